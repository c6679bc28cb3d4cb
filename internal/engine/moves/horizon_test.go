package moves

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
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
		if got := p.horizon(100, 1000, minutes(c.now), payBack); got != c.want {
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

// steady is demand that changes by so many pods each minute, for so many minutes.
func steady(from, each int64, minutes int) (levels []since) {
	for i := range minutes + 1 {
		levels = append(levels, since{i, from + each*int64(i)})
	}
	return levels
}

func trendOf(levels []since) (t *trend) {
	for _, l := range levels {
		t = t.sees(l.pods, int64(l.minute)) // a part is a minute
	}
	return t
}

func TestTrend_ASavingLastsUntilTheDemandHasMovedByPartsOfIt(t *testing.T) {
	noise := steady(1000, 0, 300)
	for i := range noise {
		noise[i].pods += int64(i%2) * 10
	}
	for name, c := range map[string]struct {
		past        []since
		saved       int64 // pods
		least, most int   // minutes
	}{
		"nothing is known":                    {nil, 100, 120, 120},
		"the demand has not changed":          {[]since{{0, 1000}, {5, 1000}}, 100, 120, 120},
		"it falls once":                       {[]since{{0, 1000}, {20, 700}, {21, 700}}, 300, 110, 120},
		"a fleet that was opened in minutes":  {append(steady(0, 100, 10), since{20, 400}), 600, 100, 120},
		"it grows by a pod a minute":          {steady(1000, 1, 300), 80, 19, 25},
		"by two":                              {steady(1000, 2, 300), 80, 9, 13},
		"the more could be saved, the longer": {steady(1000, 1, 300), 160, 38, 50},
		"it shrinks by a pod a minute":        {steady(1000, -1, 300), 80, 19, 25},
		"noise of much less":                  {noise, 400, 100, 120},
		"demand that never rests":             {steady(0, 1000, 300), 80, 1, 1},
		"what was long ago is forgotten":      {append(steady(1000, 1, 300), since{800, 1300}), 80, 120, 120},
		"the clock goes back":                 {append(steady(1000, 1, 300), since{10, 700}), 80, 120, 120},
		"nothing could be saved":              {steady(1000, 1, 300), 0, 120, 120},
		"a clock that goes back by a moment":  {append(steady(1000, 1, 300), since{299, 1300}), 80, 19, 25},
		"what nobody has a price for":         {steady(1000, 1, 300), math.MaxInt64, 120, 120},
	} {
		got := trendOf(c.past).lasts(c.saved, payBack)
		if got < time.Duration(c.least)*time.Minute || got > time.Duration(c.most)*time.Minute {
			t.Errorf("%s: %s, want %d to %d minutes", name, got, c.least, c.most)
		}
	}
}

func TestTrend_ASavingLastsForAPartAtLeastAndForPayBackAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var of *trend
		part := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "observations") {
			part += rapid.Int64Range(0, 3).Draw(t, "parts")
			of = of.sees(rapid.Int64Range(0, 1000).Draw(t, "pods"), part)
		}
		if got := of.lasts(rapid.Int64Range(0, 2000).Draw(t, "saved"), payBack); got < partTime || got > payBack {
			t.Fatalf("%s", got)
		}
	})
}

// Demand that grows was never so high before, so how long it stayed there the last time is not
// known; its trend is.
func TestHorizon_TheTrendCountsWhereTheDemandWasNeverSoHigh(t *testing.T) {
	levels := steady(1000, 1, 300)
	p := pastOf(levels)
	if got := p.horizon(100, 80, minutes(300), payBack); got != payBack {
		t.Errorf("%s without a trend", got)
	}
	p.trend = trendOf(levels)
	if got := p.horizon(100, 80, minutes(300), payBack); got < 19*time.Minute || got > 25*time.Minute {
		t.Errorf("%s with a trend", got)
	}
}

func TestTrend_AStateThatIsHandedOnIsNotChanged(t *testing.T) {
	of := trendOf([]since{{0, 1000}, {20, 700}, {30, 1000}})
	was := *of
	one, two, three := of.sees(700, 40), of.sees(500, 41), of.sees(900, 30)
	if *of != was || one.pods[0] != 700 || two.pods[0] != 500 || three.pods[0] != 900 || one.pods[10] != 1000 || two.pods[11] != 1000 {
		t.Errorf("%v, %v, %v, %v", of.pods[:12], one.pods[:12], two.pods[:12], three.pods[:12])
	}
}

func TestTrend_PartsWithoutAnObservationHaveWhatWasSeenBefore(t *testing.T) {
	of := trendOf([]since{{0, 1000}, {1, 700}, {5, 900}})
	if want := []int64{900, 700, 700, 700, 700, 1000}; !slices.Equal(of.pods[:6], want) || of.known != 6 {
		t.Errorf("%v, %d are known", of.pods[:7], of.known)
	}
	if of = of.sees(800, 5000); of.known != noted || of.pods[0] != 800 || of.pods[noted-1] != 900 {
		t.Errorf("%v, %d are known", of.pods, of.known)
	}
}

func TestHorizon_WhatMovesCostIsSpreadOverIt(t *testing.T) {
	policy := view.DefaultPolicy()
	policy.MoveTime = 30 * time.Minute
	for _, c := range []struct {
		horizon time.Duration
		pod     time.Duration
		node    quantity.Money // of one for $4
	}{{2 * time.Hour, 15 * time.Minute, quantity.NanoDollars}, {time.Hour, 30 * time.Minute, 2 * quantity.NanoDollars}, {10 * time.Minute, 3 * time.Hour, 12 * quantity.NanoDollars}} {
		s := State{horizon: c.horizon}
		if pod, node := s.each(policy.MoveTime), consolidate.LaunchCost(4*quantity.NanoDollars, s.each(policy.MoveTime)); pod != c.pod || node != c.node {
			t.Errorf("within %s a pod costs %s an hour and a new node for $4 %s, want %s and %s", c.horizon, pod, node.Dollars(), c.pod, c.node.Dollars())
		}
	}
}
