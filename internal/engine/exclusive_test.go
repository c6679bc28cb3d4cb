package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pods of which no two may share a node need one each, and the certificate says
// so, for what is added and for the whole fleet. Those that run already take
// their nodes, and the others no less.
func TestStep_ItsBoundCountsTheNodesOfPodsApart(t *testing.T) {
	const each quantity.Money = 85_000_000 // the smallest type
	for name, rule := range map[string]func(*cluster.Shape){
		"anti-affinity": func(s *cluster.Shape) { s.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")} },
		"host port":     func(s *cluster.Shape) { s.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}} },
	} {
		t.Run(name, func(t *testing.T) {
			apart := func(p *cluster.Pod) {
				p.Labels = label.FromMap(map[string]string{"app": "web"})
				rule(&p.Shape)
			}
			w := newWorld(t).pods("small", 3, 100, apart).pods("large", 2, 1500, apart)
			out := w.step()
			if c := out.Plan.Proofs[0]; !about(c.Bound, 5*each) || w.check(c) != nil {
				t.Errorf("bound %d of five nodes: %v", c.Bound, w.check(c))
			}
			w.running()
			if a := w.audit(); !about(a.Proof.Bound, 5*each) || a.Cost != 5*each {
				t.Errorf("five nodes cost %d, at least %d", a.Cost, a.Proof.Bound)
			}
			out = w.pods("more", 4, 100, apart).step()
			if c := out.Plan.Proofs[0]; !about(c.Bound, 4*each) || w.check(c) != nil {
				t.Errorf("bound %d of four nodes more: %v", c.Bound, w.check(c))
			}
		})
	}
}

// Pods that may not share a zone, or must be in several, need a node in each, and
// those that must share a node need one that holds them all. The certificate says
// so, unless what runs there already takes that from the rule.
func TestStep_ItsBoundCountsTheNodesThatRulesAskFor(t *testing.T) {
	const large, small quantity.Money = 170_000_000, 85_000_000
	over := func(zones int64) func(*cluster.Shape) {
		return func(s *cluster.Shape) {
			s.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, MinDomains: zones, Selector: pods("web")}}
		}
	}
	one := func(s *cluster.Shape) { s.PodAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")} }
	for name, tc := range map[string]struct {
		n           int
		cpu         int64
		rule        func(*cluster.Shape)
		least, next quantity.Money // where another pod that they look at runs
	}{
		"none":                {2, 100, func(*cluster.Shape) {}, small, small},
		"zonal anti-affinity": {2, 100, func(s *cluster.Shape) { s.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")} }, 2 * small, small},
		"spread over zones":   {2, 100, over(0), small, small},
		"over two at least":   {2, 100, over(2), 2 * small, small},
		"affinity":            {2, 1000, one, large, 0},
	} {
		t.Run(name, func(t *testing.T) {
			web := func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) }
			ruled := func(p *cluster.Pod) { web(p); tc.rule(&p.Shape) }
			w := newWorld(t).pods("web", tc.n, tc.cpu, ruled)
			if c := w.step().Plan.Proofs[0]; !about(c.Bound, tc.least) || w.check(c) != nil {
				t.Errorf("bound %d, want %d: %v", c.Bound, tc.least, w.check(c))
			}
			w = newWorld(t).pods("other", 1, 1900, web).running().pods("web", tc.n, tc.cpu, ruled)
			for _, c := range w.step().Plan.Proofs {
				if !about(c.Bound, tc.next) || w.check(c) != nil {
					t.Errorf("bound %d beside another, want %d: %v", c.Bound, tc.next, w.check(c))
				}
			}
		})
	}
}

// A spread counts the zones of nodes that are there: with one in each of two, two
// pods run in both. It does not count the zone of a node that leaves, that may be
// deleted since it runs nothing, or that the pods' policies leave out.
func TestStep_ItsBoundCountsTheZonesThatASpreadIsSureToCount(t *testing.T) {
	const small quantity.Money = 85_000_000
	for name, tc := range map[string]struct {
		change func(*cluster.Objects)
		least  quantity.Money
	}{
		"nodes in both zones": {func(*cluster.Objects) {}, 2 * small},
		"one goes": {func(o *cluster.Objects) {
			o.Claims[0].Interruption = &cluster.Interruption{Deadline: start.Add(time.Hour)}
			o.Pods[0].Shape.Requests.MilliCPU = 100
		}, small},
		"one runs nothing": {func(o *cluster.Objects) {
			o.Pods[0].Node, o.Nodes[0].Allocatable.MilliCPU = o.Pods[1].Node, 50
			o.Pods[1].Shape.Requests.MilliCPU /= 2
			o.Pods[0].Shape.Requests.MilliCPU /= 2
		}, small},
		"one is tainted": {func(o *cluster.Objects) {
			o.Nodes[0].Taints = []cluster.Taint{{Key: "closed", Effect: cluster.NoSchedule}}
		}, 2 * small},
		"one is tainted, and that is honoured": {func(o *cluster.Objects) {
			o.Nodes[0].Taints = []cluster.Taint{{Key: "closed", Effect: cluster.NoSchedule}}
			o.Pods[2].Shape.Spread[0].HonorTaints, o.Pods[3].Shape.Spread[0].HonorTaints = true, true
		}, small},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, zone := range []string{"a", "b"} {
				w.pods("in-"+zone, 1, 1900, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, zone)) })
			}
			w.running().pods("web", 2, 100, func(p *cluster.Pod) {
				p.Labels = label.FromMap(map[string]string{"app": "web"})
				p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("web")}}
			})
			tc.change(&w.objects)
			proofs := w.step().Plan.Proofs
			if len(proofs) != 1 || !about(proofs[0].Bound, tc.least) || w.check(proofs[0]) != nil {
				t.Errorf("bounds %+v, want %d", proofs, tc.least)
			}
		})
	}
}

// A fleet whose pods share a node, since they came there before they had the
// rule, costs less than pods cost that come now.
func TestAudit_PodsThatShareANodeAgainstTheirRuleCountAsApart(t *testing.T) {
	w := newWorld(t).pods("web", 4, 100, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) }).running()
	for i := range w.objects.Pods {
		w.objects.Pods[i].Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")}
	}
	if a := w.audit(); !about(a.Proof.Bound, 4*a.Cost) {
		t.Errorf("one node costs %d; its four pods need at least %d", a.Cost, a.Proof.Bound)
	}
}

// Where few pods are apart among many others, nothing is said about them.
func TestStep_ItsCertificateNamesOnlySetsThatCount(t *testing.T) {
	apart := func(p *cluster.Pod) { p.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}} }
	w := newWorld(t).pods("web", 5, 100, apart).pods("other", 60, 1000)
	for _, c := range w.step().Plan.Proofs {
		if i := slices.IndexFunc(c.Dimensions, func(d plan.Dimension) bool { return plan.IsExclusive(d.Resource) }); i >= 0 || w.check(c) != nil {
			t.Errorf("%+v: %v", c.Dimensions, w.check(c))
		}
	}
}
