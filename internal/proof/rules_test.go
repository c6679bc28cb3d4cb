package proof_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
)

// overZones is a world whose optimum is known: three small pods would fit on one
// node, but are spread over two zones, since each of these has a node that is full.
func overZones() (cluster.Objects, plan.Certificate) {
	o, c := keptApart(func(p *cluster.Pod) { byRule(even, "web", p) })
	o.Pods = o.Pods[:3]
	for _, zone := range []string{"a", "b"} {
		o.Nodes = append(o.Nodes, cluster.Node{Name: zone, Ready: true, Allocatable: size(4, 8), Labels: label.FromMap(map[string]string{label.Zone: zone})})
		o.Pods = append(o.Pods, pods("in-"+zone, 1, 4, 8, func(p *cluster.Pod) { p.Node = zone })...)
	}
	c.Bound, c.Demand[0].Count = 2000, 3
	return o, c
}

func TestCheck_CountsANodeInEachZoneThatGetsPodsOfASpread(t *testing.T) {
	spread := func(change func(*cluster.Spread)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) {
			every(o.Pods[:3], func(p *cluster.Pod) { change(&p.Shape.Spread[0]) })
		}
	}
	node := func(change func(*cluster.Node)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) { change(&o.Nodes[1]) }
	}
	taint := func(n *cluster.Node) { n.Taints = []cluster.Taint{{Key: "t", Effect: cluster.NoSchedule}} }
	team := func(n int, with ...func(*cluster.Pod)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) {
			with = append(with, func(p *cluster.Pod) { p.Labels = p.Labels.With("team", "x") })
			o.Pods = append(o.Pods, pods("other", n, 1, 1, with...)...)
		}
	}
	for name, tc := range map[string]struct {
		change func(*cluster.Objects, *plan.Certificate)
		want   error
	}{
		"as it is":         {func(*cluster.Objects, *plan.Certificate) {}, nil},
		"one node more":    {func(_ *cluster.Objects, c *plan.Certificate) { c.Bound = 2001 }, proof.ErrBound},
		"a skew of two":    {spread(func(x *cluster.Spread) { x.MaxSkew = 2 }), nil},
		"a skew of three":  {spread(func(x *cluster.Spread) { x.MaxSkew = 3 }), proof.ErrBound},
		"a preference":     {spread(func(x *cluster.Spread) { x.Soft = true }), proof.ErrExclusive},
		"another topology": {spread(func(x *cluster.Spread) { x.Key = "rack" }), proof.ErrExclusive},
		"a spread that counts others": {spread(func(x *cluster.Spread) {
			x.Selector.Match = label.All(label.Is("team", "y"))
		}), proof.ErrExclusive},
		"a spread that counts nothing": {spread(func(x *cluster.Spread) { x.Selector.Match = nil }), proof.ErrExclusive},
		"a node in one zone":           {func(o *cluster.Objects, _ *plan.Certificate) { o.Nodes = o.Nodes[:1] }, proof.ErrBound},
		"two zones at least": {func(o *cluster.Objects, c *plan.Certificate) {
			o.Nodes = nil
			spread(func(x *cluster.Spread) { x.MinDomains = 2 })(o, c)
		}, nil},
		"a node in no zone":       {node(func(n *cluster.Node) { n.Labels = nil }), proof.ErrBound},
		"a node that goes":        {node(func(n *cluster.Node) { n.Deleting = true }), proof.ErrBound},
		"a node of ours":          {node(func(n *cluster.Node) { n.Claim = "c" }), nil},
		"from scratch":            {func(o *cluster.Objects, c *plan.Certificate) { o.Nodes[1].Claim, c.Scratch = "c", true }, proof.ErrBound},
		"a node that runs little": {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[4].Pinned = true }, proof.ErrBound},
		"a node that runs out":    {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[4].Deleting = true }, proof.ErrBound},
		"a node with a taint":     {node(taint), nil},
		"a taint that is honoured": {func(o *cluster.Objects, c *plan.Certificate) {
			taint(&o.Nodes[1])
			spread(func(x *cluster.Spread) { x.HonorTaints = true })(o, c)
		}, proof.ErrBound},
		"another required spread": {func(o *cluster.Objects, _ *plan.Certificate) {
			every(o.Pods[:3], func(p *cluster.Pod) { p.Shape.Spread = append(p.Shape.Spread, cluster.Spread{Key: "rack", MaxSkew: 1}) })
		}, proof.ErrBound},
		"another zone for other pods": {func(o *cluster.Objects, _ *plan.Certificate) {
			every(o.Pods[:1], func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, "a")) })
		}, proof.ErrBound},
		"another zone for other pods, which counts": {func(o *cluster.Objects, c *plan.Certificate) {
			every(o.Pods[:1], func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, "a")) })
			spread(func(x *cluster.Spread) { x.IgnoreAffinity = true })(o, c)
		}, nil},
		"one of the team besides":           {team(1), nil},
		"two of the team besides":           {team(2), proof.ErrBound},
		"two of the team elsewhere":         {team(2, func(p *cluster.Pod) { p.Namespace = "elsewhere" }), nil},
		"two of the team that go":           {team(2, func(p *cluster.Pod) { p.Deleting = true }), proof.ErrBound},
		"two of the team to come":           {func(o *cluster.Objects, _ *plan.Certificate) { declareTeam(o, 2) }, proof.ErrBound},
		"two groups that are spread as one": {twoGroups, proof.ErrExclusive},
		"pods that are apart, too":          {func(o *cluster.Objects, c *plan.Certificate) { every(o.Pods[:3], byTerm); c.Bound = 3000 }, nil},
		"a node that is there is one":       {func(o *cluster.Objects, c *plan.Certificate) { o.Nodes[1].Allocatable, c.Bound = size(8, 16), 1000 }, nil},
		"and no more":                       {func(o *cluster.Objects, c *plan.Certificate) { o.Nodes[1].Allocatable, c.Bound = size(8, 16), 1001 }, proof.ErrBound},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := overZones()
			tc.change(&o, &c)
			if err := proof.Check(o, c, key); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

func declareTeam(o *cluster.Objects, n int64) {
	p := o.Pods[0]
	o.Workloads = append(o.Workloads, cluster.Workload{Kind: "ReplicaSet", Namespace: p.Namespace, Name: "other", Missing: n, Labels: p.Labels.With("app", "other"), Shape: p.Shape})
}

// twoGroups splits the pods into two groups of one rule.
func twoGroups(o *cluster.Objects, c *plan.Certificate) {
	o.Pods[0].Labels = o.Pods[0].Labels.With("app", "web2")
	c.Demand[0].Count--
	c.Demand = append(c.Demand, plan.DemandPrice{Group: "default/web2", Count: 1, Prices: c.Demand[0].Prices})
}

// onOneNode is a world whose optimum is known: four pods would fit on two small
// nodes, but must share a large one.
func onOneNode() (cluster.Objects, plan.Certificate) {
	o, c := fourNodes()
	o.Pods = pods("web", 4, 2, 2, func(p *cluster.Pod) { byRule(inseparable, "web", p) })
	c.Bound, c.Demand[0].Count, c.Demand[0].Together = 2100, 4, true
	c.Demand[0].Prices = []int64{2100 << scale / 8, 0}
	return o, c
}

func TestCheck_CountsPodsThatMustShareANodeAsOne(t *testing.T) {
	term := func(change func(*cluster.PodTerm)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) {
			every(o.Pods, func(p *cluster.Pod) { change(&p.Shape.PodAffinity[0]) })
		}
	}
	other := func(change func(*cluster.Pod)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) {
			more := pods("web", 1, 1, 1, change)
			more[0].Name = "other"
			o.Pods = append(o.Pods, more...)
		}
	}
	for name, tc := range map[string]struct {
		change func(*cluster.Objects, *plan.Certificate)
		want   error
	}{
		"as it is":       {func(*cluster.Objects, *plan.Certificate) {}, nil},
		"a higher bound": {func(_ *cluster.Objects, c *plan.Certificate) { c.Bound++ }, proof.ErrBound},
		"not said":       {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Together = false }, proof.ErrOffering},
		"a higher price": {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[0]++ }, proof.ErrOffering},
		"too many for a node": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Pods[0].Shape.Requests.MilliCPU = 3000
			every(o.Pods, larger)
		}, proof.ErrDemand},
		"a preference":                           {term(func(x *cluster.PodTerm) { x.Weight = 1 }), proof.ErrTogether},
		"zones":                                  {term(func(x *cluster.PodTerm) { x.Key = label.Zone }), proof.ErrTogether},
		"affinity to others":                     {term(func(x *cluster.PodTerm) { x.Selector.Match = label.All(label.Is("app", "db")) }), proof.ErrTogether},
		"in another namespace":                   {term(func(x *cluster.PodTerm) { x.Namespaces = []string{"other"} }), proof.ErrTogether},
		"a pod without the term":                 {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[2].Shape.PodAffinity = nil }, proof.ErrTogether},
		"not all of them":                        {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Count-- }, proof.ErrTogether},
		"another pod that is selected":           {other(func(*cluster.Pod) {}), proof.ErrTogether},
		"another that runs":                      {other(func(p *cluster.Pod) { p.Node = "n" }), proof.ErrTogether},
		"another that belongs to a node":         {other(func(p *cluster.Pod) { p.Pinned = true }), proof.ErrTogether},
		"another to come":                        {func(o *cluster.Objects, _ *plan.Certificate) { declareWeb(o) }, proof.ErrTogether},
		"another in a namespace that is not one": {other(func(p *cluster.Pod) { p.Namespace = "other" }), nil},
		"namespaces that have labels": {term(func(x *cluster.PodTerm) {
			x.InNamespaces = cluster.PodSelector{Match: label.All(label.Is("env", "prod"))}
		}), proof.ErrTogether},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := onOneNode()
			tc.change(&o, &c)
			if err := proof.Check(o, c, key); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

func larger(p *cluster.Pod) { p.Shape.Requests.MilliCPU = 3000 }

func declareWeb(o *cluster.Objects) {
	p := o.Pods[0]
	o.Workloads = append(o.Workloads, cluster.Workload{Kind: "ReplicaSet", Namespace: p.Namespace, Name: "web", Missing: 1, Labels: p.Labels, Shape: cluster.Shape{Requests: p.Shape.Requests}})
}

// A spread counts the pods of one namespace.
func TestCheck_ASpreadOfTwoNamespacesIsNotOne(t *testing.T) {
	o, c := overZones()
	o.Pods[0].Namespace = "elsewhere"
	c.Demand[0].Group = "any"
	lump := func(string, label.Labels, cluster.Shape) string { return "any" }
	if err := proof.Check(o, c, lump); !errors.Is(err, proof.ErrExclusive) {
		t.Errorf("err = %v", err)
	}
}

// A node that is launched in an unknown zone takes any number of pods that are
// apart by zones.
func TestCheck_AntiAffinityOverZonesNeedsOnesName(t *testing.T) {
	for zone, want := range map[string]error{"a": nil, "": proof.ErrBound} {
		o, c := keptApart(func(p *cluster.Pod) { byRule(alone, "web", p) })
		claim := cluster.Claim{Name: "c", Launched: true, Allocatable: size(4, 8)}
		if zone != "" {
			claim.Labels = claim.Labels.With(label.Zone, zone)
		}
		o.Claims = []cluster.Claim{claim}
		c.Bound = 7000
		if err := proof.Check(o, c, key); !errors.Is(err, want) {
			t.Errorf("in zone %q: err = %v, want %v", zone, err, want)
		}
	}
}
