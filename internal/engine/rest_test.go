package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// finish ends the pods of the names.
func (w *world) finish(names ...string) {
	w.objects.Pods = slices.DeleteFunc(w.objects.Pods, func(p cluster.Pod) bool { return slices.Contains(names, p.Name) })
}

// disrupts carries out the plans for so long, and returns how long it took until the first
// node was deleted to save money; zero for none.
func (w *world) disrupts(within time.Duration) (after time.Duration) {
	w.t.Helper()
	began := w.now
	for w.now.Before(began.Add(within)) {
		out := w.step()
		w.obey(out)
		if saves := func(d plan.Disrupt) bool { return d.Why == plan.Underutilized }; after == 0 && slices.ContainsFunc(of[plan.Disrupt](out), saves) {
			after = w.now.Sub(began)
		}
		next := began.Add(within)
		for _, a := range out.Plan.Actions {
			if wait, is := a.(plan.Wait); !is {
				next = w.now.Add(100 * time.Millisecond)
			} else if wait.Until.Before(next) {
				next = wait.Until
			}
		}
		w.now = next
	}
	return after
}

// wave lets 12 pods come and go again so many times, each time after the time.
func (w *world) wave(times int, every time.Duration) {
	w.t.Helper()
	for i := range times {
		name := fmt.Sprint("wave", i)
		w.pods(name, 12, 1000)
		w.disrupts(every)
		for k := range 12 {
			w.finish(fmt.Sprintf("%s-%02d", name, k))
		}
		w.disrupts(every)
	}
}

// After the first scale-down of a fleet, moves have the longest time; where demand comes and
// goes, they have as long as it stayed away the last time, to the minute.
func TestStandings_WhereDemandComesAndGoesANodeSaysWithinWhichTimeMovesHaveToPayBack(t *testing.T) {
	for _, c := range []struct {
		waves int
		every time.Duration
		want  string // none: the longest time
	}{
		{1, 15 * time.Minute, ""},
		{3, 15 * time.Minute, "pay back within 15m0s"},
		{3, time.Hour, "pay back within 1h0m"},
		{3, 5 * time.Hour, ""},
	} {
		w := newWorld(t).saving().pods("small", 9, 700)
		w.running()
		w.now = w.now.Add(time.Hour)
		w.disrupts(2 * time.Hour)
		w.wave(c.waves, c.every)
		said := ""
		for _, s := range w.standings() {
			if s.Stay.Reason == plan.NoSaving {
				said += s.Explain()
			}
		}
		if said == "" || !strings.Contains(said, c.want) || c.want == "" && strings.Contains(said, "pay back") {
			t.Errorf("%d waves, every %s: %s, want %q", c.waves, c.every, said, c.want)
		}
	}
}

// While the fleet waits for calm or for the next search, each node that waits with it says
// until when. Only while a search runs, which takes milliseconds, is
// there no time.
func TestStandings_ANodeThatWaitsForTheFleetSaysUntilWhen(t *testing.T) {
	w := newWorld(t).saving().pods("filler", 60, 50)
	for i := range 3 {
		w.pods(fmt.Sprintf("small%d", i), 1, 1000).pods(fmt.Sprintf("batch%d", i), 1, 2800)
	}
	w.running()
	w.now = w.now.Add(time.Hour)
	w.disrupts(40 * time.Minute)
	w.finish("batch0-00", "batch1-00")
	said := map[string]bool{}
	for end := w.now.Add(3 * time.Minute); w.now.Before(end); {
		out := w.step()
		next := end
		for _, wait := range of[plan.Wait](out) {
			next = wait.Until
		}
		snap, err := cluster.New(w.objects)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range engine.Standings(engine.Input{Snapshot: snap, Memory: w.memory, Policy: w.policy, Now: w.now}).Nodes {
			switch {
			case s.Stay.Reason != plan.NotSearched && s.Stay.Reason != plan.NextToGo:
			case s.Stay.Until.After(w.now):
				said[s.Stay.Detail] = true
			case s.Stay.Reason == plan.NotSearched && next.After(w.now.Add(10*time.Millisecond)):
				t.Fatalf("%s: %s, and the next Step is %s later", s.Node, s.Explain(), next.Sub(w.now))
			}
		}
		w.obey(out)
		w.now = w.now.Add(100 * time.Millisecond)
	}
	for _, want := range []string{"pods have come or gone, or nodes were launched, a short time ago", "the last search was a short time ago", "the nodes that the last search chose are deleted first, for five minutes at most"} {
		if !said[want] {
			t.Errorf("no node waits because %s; said: %v", want, said)
		}
	}
}
