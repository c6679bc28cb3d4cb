package engine_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A pod with more volumes than a node can attach: a node is launched for it, joins
// with its limit known, cannot take it, and another one is launched, for ever.
func TestStep_DoesNotLaunchAgainAndAgainForAPodWithMoreVolumesThanANodeAttaches(t *testing.T) {
	const slots = "attach/ebs.csi.aws.com"
	w := newWorld(t).pods("db", 1, 1000, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(slots, 30) })
	total := 0
	for range 5 {
		launches := of[plan.Launch](w.step())
		total += len(launches)
		w.order(launches).bringUp(launches)
		for i := range w.objects.Nodes {
			w.objects.Nodes[i].Allocatable = w.objects.Nodes[i].Allocatable.Extend(slots, 25) // the CSINode's count
		}
	}
	if total > 1 {
		t.Errorf("%d nodes launched for one pod", total)
	}
}
