package engine_test

import (
	"slices"
	"testing"

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
		"anti-affinity": func(s *cluster.Shape) { s.Apart = []cluster.PodTerm{term(label.Hostname, 0, "web")} },
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

// A fleet whose pods share a node, since they came there before they had the
// rule, costs less than pods cost that come now.
func TestAudit_PodsThatShareANodeAgainstTheirRuleCountAsApart(t *testing.T) {
	w := newWorld(t).pods("web", 4, 100, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) }).running()
	for i := range w.objects.Pods {
		w.objects.Pods[i].Shape.Apart = []cluster.PodTerm{term(label.Hostname, 0, "web")}
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
		if i := slices.IndexFunc(c.Dimensions, func(d plan.Dimension) bool { return plan.IsApart(d.Resource) }); i >= 0 || w.check(c) != nil {
			t.Errorf("%+v: %v", c.Dimensions, w.check(c))
		}
	}
}
