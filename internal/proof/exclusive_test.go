package proof_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// keptApart is a world whose optimum is known: no two of eight small pods share
// a node, so they need eight of the smallest nodes.
func keptApart(rule func(*cluster.Pod)) (cluster.Objects, plan.Certificate) {
	o, c := fourNodes()
	o.Pods = pods("web", 8, 1, 1, rule)
	c.Bound, c.Dimensions[1] = 8000, plan.Dimension{Resource: plan.Exclusive(1), Unit: 1}
	c.Demand[0].Prices = []int64{0, 1000 << scale}
	return o, c
}

func TestCheck_CountsTheNodesOfPodsApart(t *testing.T) {
	for name, rule := range map[string]func(*cluster.Pod){"a term": byTerm, "a port": byPort} {
		o, c := keptApart(rule)
		if err := proof.Check(o, c, key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Bound++
		if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrBound) {
			t.Errorf("%s: a bound above the optimum: %v", name, err)
		}
	}
}

// Two sets may share pods, and one set may have several groups.
func TestCheck_TellsSetsOfPodsApart(t *testing.T) {
	o, c := keptApart(byTerm)
	o.Pods = append(append(o.Pods, pods("db", 2, 1, 1, byTerm, byPort)...), pods("lb", 1, 1, 1, byPort)...)
	c.Dimensions = append(c.Dimensions, plan.Dimension{Resource: plan.Exclusive(2), Unit: 1})
	c.Demand = []plan.DemandPrice{
		{Group: "default/db", Count: 2, Prices: []int64{0, 600 << scale, 400 << scale}},
		{Group: "default/lb", Count: 1, Prices: []int64{0, 0, 400 << scale}},
		{Group: "default/web", Count: 8, Prices: []int64{0, 600 << scale, 0}},
	}
	c.Bound = 10*600 + 3*400
	if err := proof.Check(o, c, key); err != nil {
		t.Error(err)
	}
	c.Demand[2].Prices[2] = 1
	if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrExclusive) {
		t.Errorf("a set with pods that lack its rule: %v", err)
	}
}

func TestCheck_RejectsSetsOfPodsThatMayShareANode(t *testing.T) {
	term := func(change func(*cluster.PodTerm)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) {
			every(o.Pods, func(p *cluster.Pod) { change(&p.Shape.PodAntiAffinity[0]) })
		}
	}
	one := func(change func(*cluster.Pod)) func(*cluster.Objects, *plan.Certificate) {
		return func(o *cluster.Objects, _ *plan.Certificate) { change(&o.Pods[5]) }
	}
	for name, tc := range map[string]struct {
		rule   func(*cluster.Pod)
		change func(*cluster.Objects, *plan.Certificate)
		want   error
	}{
		"price raised":                 {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[1]++ }, proof.ErrOffering},
		"price lowered":                {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[1]-- }, proof.ErrBound},
		"price negative":               {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[1] = -1 }, proof.ErrForm},
		"beside a price of a resource": {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[0] = 1 }, proof.ErrOffering},
		"the name of a resource":       {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[1].Resource = quantity.Memory }, proof.ErrOffering},
		"a set given twice":            {byTerm, func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[0] = c.Dimensions[1] }, proof.ErrForm},
		"zones instead of hostnames":   {byTerm, term(func(x *cluster.PodTerm) { x.Key = label.Zone }), nil},
		"another topology":             {byTerm, term(func(x *cluster.PodTerm) { x.Key = "rack" }), proof.ErrExclusive},
		"a preference":                 {byTerm, term(func(x *cluster.PodTerm) { x.Weight = 1 }), proof.ErrExclusive},
		"another namespace":            {byTerm, term(func(x *cluster.PodTerm) { x.Namespaces = []string{"other"} }), proof.ErrExclusive},
		"no namespace but by its labels": {byTerm, term(func(x *cluster.PodTerm) {
			x.Namespaces, x.InNamespaces = nil, cluster.PodSelector{}
		}), proof.ErrExclusive},
		"a term that selects others": {byTerm, term(func(x *cluster.PodTerm) {
			x.Selector.Match = label.All(label.Is("set", "y"))
		}), proof.ErrExclusive},
		"a term that selects nothing":    {byTerm, term(func(x *cluster.PodTerm) { x.Selector.Nothing = true }), proof.ErrExclusive},
		"a pod without the term":         {byTerm, one(func(p *cluster.Pod) { p.Shape.PodAntiAffinity = nil }), proof.ErrExclusive},
		"a pod with another term":        {byTerm, one(func(p *cluster.Pod) { p.Shape.PodAntiAffinity[0].Selector = cluster.PodSelector{} }), proof.ErrExclusive},
		"a pod that is not selected":     {byTerm, one(func(p *cluster.Pod) { p.Labels = p.Labels.With("set", "y") }), proof.ErrExclusive},
		"a pod of another namespace":     {byTerm, func(o *cluster.Objects, c *plan.Certificate) { elsewhere(o, c, "prod") }, proof.ErrExclusive},
		"a pod without the port":         {byPort, one(func(p *cluster.Pod) { p.Shape.Ports = nil }), proof.ErrExclusive},
		"a pod with another port":        {byPort, one(func(p *cluster.Pod) { p.Shape.Ports[0].Port++ }), proof.ErrExclusive},
		"a pod with another protocol":    {byPort, one(func(p *cluster.Pod) { p.Shape.Ports[0].Protocol = "UDP" }), proof.ErrExclusive},
		"a pod with another address":     {byPort, one(func(p *cluster.Pod) { p.Shape.Ports[0].IP = "10.0.0.2" }), proof.ErrExclusive},
		"a pod that is apart otherwise":  {byPort, one(func(p *cluster.Pod) { p.Shape.Ports = nil; byTerm(p) }), proof.ErrExclusive},
		"a declared pod without it":      {byTerm, declared, proof.ErrExclusive},
		"a node has room":                {byTerm, node(nil, "n"), proof.ErrBound},
		"a node is taken by another":     {byTerm, node(byPort, "n"), proof.ErrBound},
		"a node is taken":                {byTerm, node(byTerm, "n"), nil},
		"a node is taken by the port":    {byPort, node(byPort, "n"), nil},
		"a node where no term holds":     {byTerm, node(byTerm, ""), proof.ErrBound},
		"a port needs no node's name":    {byPort, node(byPort, ""), nil},
		"a reservation for two has room": {byTerm, func(o *cluster.Objects, _ *plan.Certificate) { o.Classes[0].Types[1].Offerings[0] = reserved("a", 2) }, proof.ErrBound},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := keptApart(tc.rule)
			tc.change(&o, &c)
			if err := proof.Check(o, c, key); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

// elsewhere moves a pod into another namespace, where the term does not select
// it.
func elsewhere(o *cluster.Objects, c *plan.Certificate, namespace string) {
	o.Pods[5].Namespace = namespace
	last := c.Demand[0]
	c.Demand[0].Count--
	last.Group, last.Count = namespace+"/web", 1
	c.Demand = append(c.Demand, last)
}

func declared(o *cluster.Objects, _ *plan.Certificate) {
	w := cluster.Workload{Namespace: "default", Labels: o.Pods[7].Labels, Shape: o.Pods[7].Shape, Missing: 1}
	w.Shape.PodAntiAffinity = nil
	o.Pods, o.Workloads = o.Pods[:7], []cluster.Workload{w}
}

// node adds a node with a pod of the rule.
func node(rule func(*cluster.Pod), hostname string) func(*cluster.Objects, *plan.Certificate) {
	return func(o *cluster.Objects, _ *plan.Certificate) {
		n := cluster.Node{Name: "n", Ready: true, Allocatable: size(4, 8)}
		if hostname != "" {
			n.Labels = n.Labels.With(label.Hostname, hostname)
		}
		o.Nodes = append(o.Nodes, n)
		running := pods("running", 1, 0, 0, func(p *cluster.Pod) { p.Node = "n" })
		if rule != nil {
			rule(&running[0])
		}
		o.Pods = append(o.Pods, running...)
	}
}
