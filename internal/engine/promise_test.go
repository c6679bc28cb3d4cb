package engine_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Memory.Planned names classes by Group.Key, which holds only the labels that some
// selector looks at: a pod with a selector on another label renames every group,
// and all promises are lost.
func TestStep_APromiseOutlivesTheArrivalOfASelector(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) })
	first := of[plan.Launch](w.step())
	w.order(first)
	w.pods("other", 1, 3500, func(p *cluster.Pod) {
		p.Shape.Priority = 1
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")}
	})
	for _, o := range w.step().Plan.Outcomes {
		if o.Pods[0] == "default/web-00" && (o.Verdict != plan.OnClaim || o.On != first[0].Name) {
			t.Errorf("%v were promised %s: %s %s", o.Pods, first[0].Name, o.Verdict, o.On)
		}
	}
}
