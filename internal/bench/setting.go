package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Term is a requirement of the pool as its author wrote it, which is how it can
// be handed to somebody else's scheduler.
type Term struct {
	Key      string
	Operator label.Operator
	Values   []string
}

// Setting is what may be bought: one pool over one class, and the DaemonSets
// that every node carries.
type Setting struct {
	Types      []catalog.InstanceType
	Terms      []Term
	DaemonSets []cluster.DaemonSet
	// Shipped says that the daemon's own policy decides, which avoids large types.
	Shipped bool
	// Beside changes the objects before pods wait: limits, more pools, nodes. nil is
	// no change. The peer is told of none of it.
	Beside func(*cluster.Objects)
}

// namespace is where all the demand lives.
const namespace = "default"

// anySize is beyond every instance type.
const anySize = 1 << 40

// Began is the time at which everything here happens.
func Began() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Published is the setting that results for this workload have been published
// in: us-east-1, c, m and r types from generation 5 on, amd64, no metal, three
// zones, on-demand, and DaemonSets of 350 millicores and 600 MiB in six pods on
// every node. With a cap, types have at most so many vCPUs.
func Published(maxVCPU int) (Setting, error) {
	facts, market, err := embedded.Load("us-east-1")
	if err != nil {
		return Setting{}, fmt.Errorf("setting make: %w", err)
	}
	var zones []catalog.Zone
	for _, z := range market.Zones {
		if z.Name == "us-east-1a" || z.Name == "us-east-1b" || z.Name == "us-east-1c" {
			zones = append(zones, z)
		}
	}
	facts = slices.DeleteFunc(slices.Clone(facts), func(f catalog.Fact) bool { return isLater(f.Family) })
	s := Setting{
		Types: catalog.Build(facts, market, catalog.Settings{Zones: zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion}),
		Terms: []Term{
			{catalog.LabelCategory, label.In, []string{"c", "m", "r"}},
			{catalog.LabelGeneration, label.Gt, []string{"4"}},
			{catalog.LabelHypervisor, label.In, []string{"nitro"}},
			{label.Arch, label.In, []string{"amd64"}},
			{label.CapacityType, label.In, []string{label.OnDemand}},
		},
		DaemonSets: daemonSets(),
	}
	if maxVCPU > 0 {
		s.Terms = append(s.Terms, Term{catalog.LabelCPU, label.Lt, []string{strconv.Itoa(maxVCPU + 1)}})
	}
	return s, nil
}

// isLater says whether the catalogue got the family after results were first published.
// Without these families, results of then and now are of the same types and prices.
func isLater(family string) bool { return slices.Contains([]string{"dl1", "g4ad", "p3"}, family) }

// daemonSets are 350 millicores and 600 MiB in all.
func daemonSets() []cluster.DaemonSet {
	var out []cluster.DaemonSet
	for _, d := range []struct {
		name     string
		cpu, mib int64
	}{
		{"cni", 100, 150}, {"proxy", 100, 100}, {"csi", 50, 100}, {"logs", 50, 150}, {"metrics", 25, 50}, {"identity", 25, 50},
	} {
		out = append(out, cluster.DaemonSet{UID: d.name, Namespace: "kube-system", Name: d.name, Shape: cluster.Shape{
			Requests:    quantity.Resources{MilliCPU: d.cpu, MemoryBytes: d.mib << 20, PodSlots: 1},
			Tolerations: []cluster.Toleration{{Exists: true}},
		}})
	}
	return out
}

// Fake is the setting of Karpenter's own benchmark: 400 types, where number i
// has i+1 CPUs, 2(i+1) GiB and room for 10(i+1) pods, at a price that is linear
// in both; 100m and 10Mi of each are reserved. Spot has two zones, on-demand
// three, at one price. There are no DaemonSets.
func Fake() Setting {
	const gib, nanoPerByte = int64(1) << 30, 0.1 // $0.1 per CPU and per 10^9 bytes
	var s Setting
	for i := int64(1); i <= 400; i++ {
		name := fmt.Sprintf("fake-it-%d", i-1)
		capacity := quantity.Resources{MilliCPU: 1000 * i, MemoryBytes: 2 * i * gib, PodSlots: 10 * i}
		t := catalog.InstanceType{
			Name:        name,
			Labels:      label.FromMap(map[string]string{label.InstanceType: name, label.Arch: "amd64", label.OS: "linux"}),
			Capacity:    capacity,
			Allocatable: capacity.Sub(quantity.Resources{MilliCPU: 100, MemoryBytes: 10 << 20}),
		}
		price := quantity.Money(i*quantity.NanoDollars/10) + quantity.Money(nanoPerByte*float64(capacity.MemoryBytes))
		for zone := 1; zone <= 3; zone++ {
			for _, class := range []string{label.OnDemand, label.Spot} {
				if zone == 3 && class == label.Spot {
					continue
				}
				z := fmt.Sprintf("test-zone-%d", zone)
				t.Offerings = append(t.Offerings, catalog.Offering{Zone: z, ZoneID: z, CapacityType: class, Price: price, Available: true})
			}
		}
		s.Types = append(s.Types, t)
	}
	slices.SortFunc(s.Types, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Objects are the pool, the class and the DaemonSets, without any pod.
func (s Setting) Objects() (cluster.Objects, error) {
	reqs := make([]label.Requirement, len(s.Terms))
	for i, t := range s.Terms {
		r, err := label.NewRequirement(t.Key, t.Operator, t.Values...)
		if err != nil {
			return cluster.Objects{}, fmt.Errorf("setting make: %w", err)
		}
		reqs[i] = r
	}
	o := cluster.Objects{
		Classes:    []cluster.Class{{Name: "bench", Ready: true, Types: s.Types}},
		Pools:      []cluster.Pool{{Name: "bench", UID: "bench", Class: "bench", Ready: true, Requirements: label.All(reqs...)}},
		DaemonSets: s.DaemonSets,
	}
	if s.Beside != nil {
		s.Beside(&o)
	}
	return o, nil
}

// Policy is the one that decides here.
func (s Setting) Policy() engine.Policy {
	if s.Shipped {
		return engine.DefaultPolicy()
	}
	return Policy()
}

// Policy is the daemon's, except that no size is avoided: whether large nodes
// are wanted is the pool's cap alone, here as for the peer. Nor does a node cost more
// than its instance, so that results compare with those of others.
func Policy() engine.Policy {
	p := engine.DefaultPolicy()
	p.SoftMaxMilliCPU, p.NodeCost = anySize, 0
	return p
}

// Pods are the Deployments' pods, all pending. The seed is part of their names.
func Pods(seed uint64, from []Deployment) []cluster.Pod {
	var out []cluster.Pod
	for _, d := range from {
		owner := cluster.Owner{Kind: "ReplicaSet", Name: fmt.Sprintf("%s-%x", d.Name, seed), UID: fmt.Sprintf("%s-%x", d.Name, seed)}
		shape := cluster.Shape{Requests: quantity.Resources{MilliCPU: d.MilliCPU, MemoryBytes: d.MiB << 20, PodSlots: 1}.Extend("nvidia.com/gpu", d.GPUs)}
		labels := label.FromMap(map[string]string{"app": d.Name})
		for i := range d.Count {
			name := fmt.Sprintf("%s-%d", owner.Name, i)
			out = append(out, cluster.Pod{
				UID: name, Namespace: namespace, Name: name, Labels: labels, Owner: owner, Shape: shape, Created: Began(), Unschedulable: true,
			})
		}
	}
	return out
}
