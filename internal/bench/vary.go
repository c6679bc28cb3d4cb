package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Settings made of others.

// with is the setting after one more change.
func (s Setting) with(change func(*cluster.Objects)) Setting {
	before := s.Beside
	s.Beside = func(o *cluster.Objects) {
		if before != nil {
			before(o)
		}
		change(o)
	}
	return s
}

// limited gives every pool a limit on CPUs: so many per cent of what the pods request.
func (b Base) limited(pods []cluster.Pod, percent int64) (Base, error) {
	milli := int64(0)
	for _, p := range pods {
		milli += p.Shape.Requests.MilliCPU
	}
	pools := slices.Clone(b.objects.Pools)
	for i := range pools {
		pools[i].Limits = []quantity.Amount{{Name: quantity.CPU, Count: milli * percent / 100}}
	}
	var err error
	if b.snapshot, err = b.snapshot.Apply(cluster.Delta{Put: cluster.Objects{Pools: pools}}); err != nil {
		return Base{}, fmt.Errorf("limits index: %w", err)
	}
	b.objects.Pools = pools
	return b.warmed(), nil
}

// WithLimits are the cases with a limit that does not bind, of which the same is
// required as without, and with one that does: it leaves no room for a quarter of
// what the pods request, so pods stay without a node.
func WithLimits(cases []Case) []Case {
	var out []Case
	for _, c := range cases {
		c.Seeds = min(c.Seeds, 3)
		loose, tight := c, c
		loose.Name, loose.Title, loose.Limit = c.Name+"-loose", c.Name+", with a limit that does not bind", 100_000
		tight.Row = Row{c.Name + "-tight", c.Name + ", with a limit that binds", Required{Binds: true}}
		tight.Limit = 75
		out = append(out, loose, tight)
	}
	return out
}

// shipped is Published for the policy that the daemon has: large types are avoided.
func shipped() (Setting, error) {
	s, err := Published(0)
	s.Shipped = true
	return s, err
}

// gpus is Published with the types that have GPUs.
func gpus() (Setting, error) {
	s, err := Published(0)
	if err != nil {
		return Setting{}, err
	}
	s.Terms[0].Values = []string{"c", "m", "r", "g", "p"}
	return s, nil
}

// spot is Published with spot beside on-demand, at prices that are drawn, as those of
// the catalogue are an estimate that spreads all types over the zones alike. A type
// costs a part of its on-demand price, lognormal around 0.38 (sigma 0.35), and each
// zone differs from that, lognormal (sigma 0.2); no price is above on-demand.
func spot() (Setting, error) {
	s, err := Published(32)
	if err != nil {
		return Setting{}, err
	}
	for i, t := range s.Terms {
		if t.Key == label.CapacityType {
			s.Terms[i].Values = []string{label.OnDemand, label.Spot}
		}
	}
	rng := rand.New(rand.NewPCG(1, 0x5b07)) //nolint:gosec // G404: prices for a benchmark, which have to be the same each time
	s.Types = slices.Clone(s.Types)
	for i := range s.Types {
		offerings := slices.Clone(s.Types[i].Offerings)
		part := 0.38 * math.Exp(0.35*rng.NormFloat64())
		full := onDemand(offerings)
		for j := range offerings {
			if offerings[j].CapacityType == label.Spot {
				offerings[j].Price = quantity.Money(float64(full) * min(1, part*math.Exp(0.2*rng.NormFloat64())))
				offerings[j].Available = full > 0
			}
		}
		s.Types[i].Offerings = offerings
	}
	return s, nil
}

// onDemand is the on-demand price of these offerings.
func onDemand(of []catalog.Offering) quantity.Money {
	for _, o := range of {
		if o.CapacityType == label.OnDemand {
			return o.Price
		}
	}
	return 0
}

// besideFleet is Published with nodes that run pods, each tenth with room for more; a
// group of four pods that exclude each other from nodes, as CoreDNS does, two of
// which run; and pools of three weights: one of newer types, one with a taint that no
// pod tolerates, and Published's own.
func besideFleet(nodes int) func() (Setting, error) {
	return func() (Setting, error) {
		s, err := Published(32)
		if err != nil {
			return Setting{}, err
		}
		newer, err := label.NewRequirement(catalog.LabelGeneration, label.Gt, "6")
		if err != nil {
			return Setting{}, fmt.Errorf("setting make: %w", err)
		}
		return s.with(func(o *cluster.Objects) {
			first, tainted := o.Pools[0], o.Pools[0]
			first.Name, first.UID, first.Weight = "newer", "newer", 50
			first.Requirements = first.Requirements.And(label.All(newer))
			tainted.Name, tainted.UID, tainted.Weight = "tainted", "tainted", 20
			tainted.Taints = []cluster.Taint{{Key: "example.com/team", Value: "other", Effect: cluster.NoSchedule}}
			o.Pools = append(o.Pools[:1:1], first, tainted)
			running(o, s, nodes, func(i int) int {
				if i%10 == 0 {
					return podsOnNode - 4
				}
				return podsOnNode
			})
			for i := range 4 {
				node := ""
				if i < 2 {
					node = nodeName(i)
				}
				o.Pods = append(o.Pods, dns(node, i))
			}
		}), nil
	}
}

// podsOnNode is how many pods of running fill a node but for a CPU.
const podsOnNode = 20

func nodeName(i int) string { return fmt.Sprintf("node-%06d", i) }

// running adds nodes of 32 vCPUs, each with its pods of 1,500 millicores and 5 GiB.
func running(o *cluster.Objects, s Setting, nodes int, pods func(node int) int) {
	t := s.Types[slices.IndexFunc(s.Types, func(t catalog.InstanceType) bool { return t.Name == "m5.8xlarge" })]
	runs := Pods(0, []Deployment{{Name: "runs", MilliCPU: 1_500, MiB: 5 << 10, Count: int64(nodes * podsOnNode)}})
	for i := range nodes {
		name := nodeName(i)
		zone := []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3]
		labels := t.Labels.Merge(label.FromMap(map[string]string{
			label.Zone: zone, label.CapacityType: label.OnDemand, label.NodePool: "bench", label.NodeClass: "bench",
		}))
		o.Nodes = append(o.Nodes, cluster.Node{
			Name: name, UID: name, Labels: labels.With(label.Hostname, name), Allocatable: t.Allocatable, Ready: true, Claim: name, Created: Began(),
		})
		o.Claims = append(o.Claims, cluster.Claim{
			Name: name, UID: name, Pool: "bench", Class: "bench", Labels: labels, InstanceID: "i-" + name, InstanceType: t.Name, Zone: zone,
			CapacityType: label.OnDemand, Allocatable: t.Allocatable, Node: name, Launched: true, Registered: true, Initialized: true, Created: Began(),
		})
		for _, p := range runs[i*podsOnNode:][:pods(i)] {
			p.Node, p.Unschedulable = name, false
			o.Pods = append(o.Pods, p)
		}
	}
}

// dns is a pod of CoreDNS, on the node if one is named.
func dns(node string, i int) cluster.Pod {
	p := Pods(uint64(i), []Deployment{{Name: "coredns", MilliCPU: 100, MiB: 70, Count: 1}})[0]
	p.Namespace, p.Node, p.Unschedulable, p.Labels = "kube-system", node, node == "", label.FromMap(map[string]string{"k8s-app": "kube-dns"})
	p.Shape.PodAntiAffinity = []cluster.PodTerm{{
		Key: label.Hostname, Namespaces: []string{"kube-system"}, InNamespaces: cluster.PodSelector{Nothing: true},
		Selector: cluster.PodSelector{Match: label.All(label.Is("k8s-app", "kube-dns"))},
	}}
	return p
}
