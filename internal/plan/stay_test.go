package plan_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func TestStay_APauseNamesItsSwitchAndHowToEndIt(t *testing.T) {
	for _, c := range []struct {
		stay  plan.Stay
		parts []string
	}{
		{plan.Stay{Reason: plan.PoolPaused, Detail: "spot"}, []string{`NodePool "spot"`, "annotation karpenterd.sh/pause-disruption", "remove the annotation"}},
		{plan.Stay{Reason: plan.DaemonPaused}, []string{"PAUSE_DISRUPTION", "pause_disruption of karpenter_daemon", "clock"}},
	} {
		for _, part := range c.parts {
			if text := c.stay.Explain(); !strings.Contains(text, part) {
				t.Errorf("%s lacks %q: %s", c.stay.Reason, part, text)
			}
		}
		if !c.stay.Paused() {
			t.Errorf("%s is no pause", c.stay.Reason)
		}
	}
}
