package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Kind is what the pods of one part of the mix ask for. It is the beginning of
// their names.
type Kind string

// The five parts of the mix of Karpenter's own benchmark.
const (
	Plain          Kind = "plain"
	ZoneSpread     Kind = "zone-spread"
	HostnameSpread Kind = "hostname-spread"
	ZoneAffinity   Kind = "zone-affinity"
	AntiAffinity   Kind = "anti-affinity"
)

// Kinds are the parts of the mix.
func Kinds() []Kind {
	return []Kind{Plain, ZoneSpread, HostnameSpread, ZoneAffinity, AntiAffinity}
}

// draws is the source of one set of pods.
type draws struct {
	*rand.Rand

	seed uint64
}

func drawing(seed uint64) draws {
	return draws{rand.New(rand.NewPCG(seed, 0x6d_69_78)), seed} //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
}

// Mixed draws pods as Karpenter's benchmark draws them, the same number of each
// kind: no two alike, sizes and labels from short lists. Spreads are strict with
// a skew of one and select by a label that pods of other kinds carry too; pods
// with zone affinity attract their like; all those with anti-affinity exclude
// each other from a node, so that there are at least as many nodes.
func Mixed(seed uint64, pods int, kinds ...Kind) []cluster.Pod {
	d := drawing(seed)
	out := make([]cluster.Pod, 0, pods)
	for i := range pods {
		kind := kinds[i*len(kinds)/pods]
		labels, shape := d.pod(kind)
		out = append(out, d.named(fmt.Sprintf("%s-%x-%d", kind, d.seed, i), labels, shape))
	}
	return out
}

// Preferring draws pods of one size as Karpenter's benchmark of preferences
// does. Each would rather be in test-zone-1, which it can be, in a zone without
// its like, which it cannot, and on a node without its like, which it can.
func Preferring(seed uint64, pods int) []cluster.Pod {
	d := drawing(seed)
	like, shape := map[string]string{"app": "nginx"}, d.sized()
	shape.Preferred = []cluster.Preference{{Weight: 1, Node: label.All(label.Is(label.Zone, "test-zone-1"))}}
	shape.PodAntiAffinity = []cluster.PodTerm{weighted(10, alike(label.Zone, like)), weighted(1, alike(label.Hostname, like))}
	out := make([]cluster.Pod, pods)
	for i := range out {
		out[i] = d.named(fmt.Sprintf("prefers-%x-%d", seed, i), label.FromMap(like), shape)
	}
	return out
}

func (d draws) pod(kind Kind) (label.Labels, cluster.Shape) {
	shape := d.sized()
	labels := map[string]string{"my-label": d.letter()}
	switch kind {
	case Plain:
	case ZoneSpread:
		shape.Spread = d.spread(label.Zone)
	case HostnameSpread:
		shape.Spread = d.spread(label.Hostname)
	case ZoneAffinity:
		labels = map[string]string{"my-affinity": d.letter()}
		shape.PodAffinity = []cluster.PodTerm{alike(label.Zone, labels)}
	case AntiAffinity:
		labels = map[string]string{"app": "nginx"}
		shape.PodAntiAffinity = []cluster.PodTerm{alike(label.Hostname, labels)}
	}
	return label.FromMap(labels), shape
}

func (d draws) named(name string, labels label.Labels, shape cluster.Shape) cluster.Pod {
	return cluster.Pod{UID: name, Namespace: namespace, Name: name, Labels: labels, Shape: shape, Created: Began(), Unschedulable: true}
}

func (d draws) sized() cluster.Shape {
	cpu := [...]int64{100, 250, 500, 1000, 1500}
	mib := [...]int64{100, 256, 512, 1024, 2048, 4096}
	return cluster.Shape{Requests: quantity.Resources{
		MilliCPU: cpu[d.IntN(len(cpu))], MemoryBytes: mib[d.IntN(len(mib))] << 20, PodSlots: 1,
	}}
}

func (d draws) letter() string { return string(rune('a' + d.IntN(7))) }

func (d draws) spread(key string) []cluster.Spread {
	return []cluster.Spread{{Key: key, MaxSkew: 1, Selector: selecting(map[string]string{"my-label": d.letter()})}}
}

// alike is the required term over pods of the same namespace with these labels.
func alike(key string, labels map[string]string) cluster.PodTerm {
	return cluster.PodTerm{
		Key: key, Selector: selecting(labels), Namespaces: []string{namespace}, InNamespaces: cluster.PodSelector{Nothing: true},
	}
}

func weighted(weight int32, t cluster.PodTerm) cluster.PodTerm {
	t.Weight = weight
	return t
}

func selecting(labels map[string]string) cluster.PodSelector {
	var reqs []label.Requirement
	for key, value := range labels {
		reqs = append(reqs, label.Is(key, value))
	}
	return cluster.PodSelector{Match: label.All(reqs...)}
}
