package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func TestVain_EachNodeInARowMakesThePauseTwiceAsLong(t *testing.T) {
	for name, c := range map[string]struct {
		of     Backoff
		pauses []time.Duration
	}{
		"never joined": {
			Backoff{Kind: "web", Why: plan.RegistrationTimeout},
			[]time.Duration{0, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 4 * time.Hour},
		},
		"too small": {
			Backoff{Kind: "web", Type: "m5.large", Lacks: "memory"},
			[]time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 4 * time.Hour},
		},
		"without a device": {
			Backoff{Kind: "web", Type: "m5.large", Lacks: "nvidia.com/gpu", Device: true},
			[]time.Duration{0, time.Hour, 2 * time.Hour, 4 * time.Hour, 4 * time.Hour},
		},
	} {
		var m Memory
		now := time.Date(2026, 1, 1, 0, 0, 0, 700_000_000, time.UTC)
		for i, want := range c.pauses {
			ordered := now.Add(-2 * time.Second)
			if i > 0 {
				ordered = m.Backoffs[0].At.Truncate(time.Second) // with the Step that gave up the last one
			}
			for k := range 3 { // nodes that were ordered together
				m.BackOff(c.of, &cluster.Claim{Name: fmt.Sprint(i, k), Pool: "p", Created: ordered}, cluster.Snapshot{}, now)
				m.BackOff(c.of, &cluster.Claim{Name: fmt.Sprint(i, k), Pool: "p", Created: ordered}, cluster.Snapshot{}, now)
			}
			v, waits := m.Backoffs.WaitsFor("p", "web", "m5.large", now)
			if waits != (want > 0) || waits && v.Until().Sub(now) != want {
				t.Errorf("%s, after %d nodes: waits %s, want %s", name, i+1, v.Until().Sub(now), want)
			}
			if _, other := m.Backoffs.WaitsFor("p", "web", "c5.large", now); other != (waits && c.of.Type == "") {
				t.Errorf("%s, after %d nodes: another type waits %t", name, i+1, other)
			}
			now = now.Add(want)
			if _, waits := m.Backoffs.WaitsFor("p", "web", "m5.large", now); waits {
				t.Errorf("%s, after %d nodes: waits longer than %s", name, i+1, want)
			}
			now = now.Add(30 * time.Minute)
		}
		m.BackOff(c.of, &cluster.Claim{Name: "last", Pool: "p", Created: now}, cluster.Snapshot{}, now)
		for _, other := range [][2]string{{"p", "db"}, {"q", "web"}} {
			if _, waits := m.Backoffs.WaitsFor(other[0], other[1], "m5.large", now); waits {
				t.Errorf("%s: pods %s of pool %s wait, too", name, other[1], other[0])
			}
			m.CameUp(other[0], other[1], "m5.large")
		}
		if m.CameUp("p", "web", "c5.large"); len(m.Backoffs) != 1 && c.of.Type != "" {
			t.Errorf("%s: after one of another type that came up: %+v", name, m.Backoffs)
		}
		if m.CameUp("p", "web", "m5.large"); len(m.Backoffs) > 0 {
			t.Errorf("%s: after one that came up: %+v", name, m.Backoffs)
		}
	}
}

func TestVain_IsForgottenAfterAWhileAndOutlivesAClockThatGoesBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	list := Backoffs{{Pool: "p", Kind: "web", Nodes: 2, At: now}}
	end := list[0].Until().Add(forgetBackoffFor)
	if got := backoffsNow(list, cluster.Snapshot{}, end.Add(-1)); len(got) != 1 {
		t.Errorf("forgotten too soon: %+v", got)
	}
	if got := backoffsNow(list, cluster.Snapshot{}, end); len(got) > 0 {
		t.Errorf("not forgotten: %+v", got)
	}
	before := now.Add(-24 * time.Hour)
	if got := backoffsNow(list, cluster.Snapshot{}, before); len(got) != 1 || !got[0].At.Equal(before) || !list[0].At.Equal(now) {
		t.Errorf("the clock went back: %+v", got)
	}
}
