package engine_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// If the first launches of a burst fail, the other NodeClaims have not been made in vain; if they
// succeed, all follow.
func TestStep_APoolHasNoMoreNodeClaimsThatWaitForTheirLaunchThanThePolicySays(t *testing.T) {
	w := newWorld(t).pods("p", 10, 3500) // one to a node
	w.policy.MostUnlaunched = 4
	var all []plan.Launch
	up := 0
	for range 12 {
		out := w.step()
		launches := of[plan.Launch](out)
		waiting := 0
		for _, c := range w.objects.Claims {
			if !c.Launched {
				waiting++
			}
		}
		if waiting+len(launches) > 4 {
			t.Fatalf("%d NodeClaims wait for their launch, and %d more are made", waiting, len(launches))
		}
		for _, o := range out.Plan.Outcomes {
			if o.Verdict == plan.Waiting && !strings.Contains(o.Explain(), "as many nodes of the pool wait for their launch as EC2 is asked for together (4 at a time)") {
				t.Errorf("said: %s", o.Explain())
			}
		}
		all = append(all, launches...)
		w.order(launches)
		if up < len(all) { // one launch succeeds
			w.bringUp(all[up : up+1])
			up++
		}
	}
	if len(all) != 10 {
		t.Errorf("%d nodes are launched for 10 pods", len(all))
	}
}
