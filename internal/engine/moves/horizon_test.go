package moves

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
)

const payBack = 2 * time.Hour

var pastStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return pastStart.Add(time.Duration(n) * time.Minute) }

// since is how many pods there were from a minute on.
type since struct {
	minute int
	pods   int64
}

func pastOf(levels []since) (p past) {
	for _, l := range levels {
		p.sees(l.pods, minutes(l.minute))
	}
	return p
}

func TestHorizon_ASavingIsExpectedToLastAsLongAsTheDemandStaysOrStayedLast(t *testing.T) {
	waves := []since{{0, 1000}, {20, 700}, {30, 1000}, {40, 700}}
	for name, c := range map[string]struct {
		past []since
		now  int
		want time.Duration
	}{
		"nothing is known":                     {nil, 5, payBack},
		"the demand has not changed":           {[]since{{0, 1000}}, 5, payBack},
		"it falls for the first time":          {[]since{{0, 1000}, {20, 700}}, 21, payBack},
		"it falls to what it was as it grew":   {[]since{{0, 0}, {1, 400}, {2, 1000}, {20, 400}}, 21, payBack},
		"it is back, for the first time":       {waves[:3], 31, payBack},
		"it falls again":                       {waves, 41, 10 * time.Minute},
		"it stays longer than the last time":   {waves, 65, 25 * time.Minute},
		"it falls less than before":            {append(waves[:3:3], since{40, 900}), 41, 10 * time.Minute},
		"it falls more than before":            {append(waves[:3:3], since{40, 500}), 41, payBack},
		"it is back again":                     {append(waves[:4:4], since{55, 1000}), 56, 10 * time.Minute},
		"no longer than that":                  {[]since{{0, 1000}, {20, 700}, {500, 1000}, {510, 700}}, 511, payBack},
		"it was as high and as low for longer": {[]since{{0, 50}, {10, 200}, {20, 100}, {30, 50}, {40, 200}, {50, 100}}, 350, payBack},
		"what a node has is no change":         {[]since{{0, 1000}, {20, 995}, {30, 1003}, {40, 996}}, 41, payBack},
		"more than a node has is one":          {[]since{{0, 1000}, {20, 980}, {30, 1000}, {40, 980}}, 41, 10 * time.Minute},
		"demand that never rests":              {[]since{{0, 1000}, {20, 700}, {20, 1000}, {20, 700}}, 20, leastHorizon},
		"the clock goes back":                  {append(waves[:4:4], since{10, 700}), 11, payBack},
	} {
		p := pastOf(c.past)
		if got := p.horizon(100, minutes(c.now), payBack); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPast_AStateThatIsHandedOnIsNotChanged(t *testing.T) {
	p := pastOf([]since{{0, 1000}, {20, 700}, {30, 1000}})
	one, two := p, p
	one.sees(700, minutes(40))
	two.sees(500, minutes(41))
	if p.last.pods != 1000 || one.last.pods != 700 || two.last.pods != 500 || one.last.before != p.last || two.last.before != p.last {
		t.Errorf("%+v, %+v, %+v", p.last, one.last, two.last)
	}
}

func TestPast_OnlySoManyLevelsAreRemembered(t *testing.T) {
	var p past
	for i := range 5 * mostLevels {
		p.sees(int64(1000+i%2*500), minutes(i))
	}
	count := 0
	for l := p.last; l != nil; l = l.before {
		count++
	}
	if count < mostLevels || count > 2*mostLevels {
		t.Errorf("%d levels are remembered", count)
	}
}

func TestHorizon_WhatMovesCostIsSpreadOverIt(t *testing.T) {
	policy := view.DefaultPolicy()
	policy.MoveTime = 30 * time.Minute
	for _, c := range []struct {
		horizon time.Duration
		pod     time.Duration
		share   int64
	}{{2 * time.Hour, 15 * time.Minute, 250}, {time.Hour, 30 * time.Minute, 500}, {10 * time.Minute, 3 * time.Hour, 3000}} {
		s := State{horizon: c.horizon}
		if pod, share := s.each(policy.MoveTime), s.share(policy); pod != c.pod || share != c.share {
			t.Errorf("within %s a pod costs %s an hour and new nodes must save %d thousandths, want %s and %d", c.horizon, pod, share, c.pod, c.share)
		}
	}
}
