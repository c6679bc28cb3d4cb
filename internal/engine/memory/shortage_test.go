package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func key(instanceType string) catalog.OfferingKey {
	return catalog.OfferingKey{CapacityType: "on-demand", InstanceType: instanceType, Zone: "a"}
}

func failed(reach catalog.Reach, types ...string) Tried {
	t := Tried{Pool: "pool"}
	for _, x := range types {
		t.Lacks = append(t.Lacks, Lack{Offering: key(x), Reach: reach, Why: Cause{Code: "Code"}})
	}
	return t
}

func TestShortages_ThePauseGrowsToItsLongest(t *testing.T) {
	var s Shortages
	now := begin
	for _, want := range []time.Duration{firstPause, 2 * firstPause, longestPause, longestPause} {
		s = s.After(failed(catalog.ReachOffering, "m5.large"), now)
		until, why, shut := s.Shut("other", key("m5.large"), now)
		if !shut || until.Sub(now) != want || why.Code != "Code" {
			t.Errorf("shut %v for %s (%+v), want %s", shut, until.Sub(now), why, want)
		}
		now = until
	}
}

func TestShortages_AnswersToCallsThatWereUnderWayTogetherCountOnce(t *testing.T) {
	var s Shortages
	for i := range 4 {
		s = s.After(failed(catalog.ReachOffering, "m5.large"), begin.Add(time.Duration(i)*time.Second))
	}
	if until, _, _ := s.Shut("pool", key("m5.large"), begin); !until.Equal(begin.Add(firstPause)) || s.Failures("pool", key("m5.large")) != 1 {
		t.Errorf("until %s, %d failures", until, s.Failures("pool", key("m5.large")))
	}
}

func TestShortages_AQuotaShutsItsTypesAndNoOthers(t *testing.T) {
	s := Shortages{}.After(failed(catalog.ReachQuota, "m5.large"), begin)
	for kind, want := range map[string]bool{"m5.large": true, "c7g.metal": true, "p5.48xlarge": false} {
		if _, _, shut := s.Shut("other", key(kind), begin); shut != want {
			t.Errorf("%s shut: %v", kind, shut)
		}
	}
}

func TestShortages_ASuccessEndsThePauseOfWhatItRefutes(t *testing.T) {
	s := Shortages{}.After(failed(catalog.ReachQuota, "m5.large"), begin)
	s = s.After(failed(catalog.ReachOffering, "p5.48xlarge"), begin)
	s = s.After(Tried{Pool: "pool", Launched: key("c5.large")}, begin.Add(firstPause))
	if _, _, shut := s.Shut("pool", key("m5.large"), begin); shut || s.Failures("pool", key("m5.large")) != 0 {
		t.Error("the quota is still taken for used up")
	}
	if s.Failures("pool", key("p5.48xlarge")) != 1 {
		t.Error("a success elsewhere counts for what it says nothing about")
	}
}

func TestShortages_OfferingsThatALaunchPassedByAreOutForTheFirstPauseOnly(t *testing.T) {
	var s Shortages
	now := begin
	for range 3 {
		s = s.After(Tried{Pool: "pool", Launched: key("c5.large"), Lacks: failed(catalog.ReachOffering, "m5.large").Lacks}, now)
		until, _, _ := s.Shut("pool", key("m5.large"), now)
		if until.Sub(now) != firstPause || s.Failures("pool", key("m5.large")) != 0 {
			t.Errorf("out for %s, %d failures", until.Sub(now), s.Failures("pool", key("m5.large")))
		}
		now = until
	}
}

// What is tried again is launched one at a time and with retryGap between; what has not
// failed is not held up, and other pools are not.
func TestShortages_AFailedRetryHoldsBackOnlyWhatHasFailedBefore(t *testing.T) {
	s := Shortages{}.After(failed(catalog.ReachOffering, "m5.large"), begin)
	s = s.After(failed(catalog.ReachOffering, "c5.large"), begin)
	now := begin.Add(firstPause)
	s = s.After(failed(catalog.ReachOffering, "m5.large"), now)
	if until, _, shut := s.Shut("pool", key("c5.large"), now); !shut || !until.Equal(now.Add(retryGap)) {
		t.Errorf("c5.large is shut %v until %s", shut, until)
	}
	if _, _, shut := s.Shut("pool", key("r5.large"), now); shut {
		t.Error("an offering that has not failed is held back")
	}
	if _, _, shut := s.Shut("other", key("c5.large"), now); shut {
		t.Error("another pool is held back")
	}
}

func TestShortages_NothingIsKeptForEver(t *testing.T) {
	s := Shortages{}
	for i := range 100 {
		s = s.After(failed(catalog.ReachOffering, fmt.Sprintf("m%d.large", i)), begin.Add(time.Duration(i)*time.Second))
	}
	if s = s.lasting(begin.Add(2 * time.Hour)); len(s.Unavailable) != 0 || len(s.Failing) != 0 {
		t.Errorf("%d penalties, %d failing", len(s.Unavailable), len(s.Failing))
	}
	s = Shortages{}.After(failed(catalog.ReachOffering, "m5.large"), begin.Add(time.Hour))
	if s = s.lasting(begin); !s.Failing[0].Last.Equal(begin) {
		t.Error("the clock went back, and the failure lies ahead")
	}
}

func TestWider_TheChoiceGrowsToItsWidest(t *testing.T) {
	for failures, want := range []int64{50, 800, widest, widest} {
		if got := Wider(50, failures); got != want {
			t.Errorf("after %d failures %d, want %d", failures, got, want)
		}
	}
	if Wider(0, 9) != 0 || Wider(9000, 3) != 9000 {
		t.Error("a tolerance that a user has set is not kept")
	}
}

func TestShortages_APaceShortensThePauses(t *testing.T) {
	now := time.Unix(10_000, 0)
	key := catalog.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}
	s := Paced(6000).After(Tried{Pool: "p", Lacks: []Lack{{Offering: key}}}, now)
	if until, _, shut := s.Shut("p", key, now); !shut || until.Sub(now) != firstPause/6 {
		t.Errorf("shut %v for %s, want %s", shut, until.Sub(now), firstPause/6)
	}
	later := now.Add(firstPause / 6)
	s = s.After(Tried{Pool: "p", Lacks: []Lack{{Offering: key}}}, later)
	if until, _, shut := s.Shut("p", key, later); !shut || until.Sub(later) != retryGap/6 {
		t.Errorf("shut %v for %s after the second failure, want %s", shut, until.Sub(later), retryGap/6)
	}
}
