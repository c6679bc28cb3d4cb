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
// node went to save money; zero for none.
func (w *world) disrupts(within time.Duration) (after time.Duration) {
	w.t.Helper()
	began := w.now
	for w.now.Before(began.Add(within)) {
		out := w.step()
		w.obey(out)
		if after == 0 && len(of[plan.Disrupt](out)) > 0 {
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

// resting wants a node to say until when the next search waits.
func (w *world) resting() {
	w.t.Helper()
	for _, s := range w.standings() {
		if s.Stay.Reason == plan.NotSearched && s.Stay.Until.After(w.now) && strings.Contains(s.Explain(), "moves have begun a short time ago, and the next search of the fleet waits, until 2026-01-01T") {
			return
		}
	}
	w.t.Errorf("no node says until when the fleet is not searched: %+v", w.standings())
}

// A fleet with nodes whose larger pod ends, one of 66 pods, so that a cheaper node would do.
func TestStep_AFleetThatWasImprovedIsSearchedAgain20MinutesLaterUnlessManyPodsHaveGone(t *testing.T) {
	const soon, rest = time.Minute, 20 * time.Minute
	for name, c := range map[string]struct {
		gone        []string // beside the larger pod
		least, most time.Duration
	}{
		"few": {nil, rest - 2*soon, rest},
		// Then it waits for calm, as ever.
		"many": {[]string{"filler-00", "filler-01"}, 3 * time.Second, soon},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).saving().pods("filler", 60, 50)
			for i := range 3 {
				w.pods(fmt.Sprintf("small%d", i), 1, 1000).pods(fmt.Sprintf("batch%d", i), 1, 2800)
			}
			w.running()
			w.now = w.now.Add(time.Hour)
			w.disrupts(soon)
			for i := range 2 {
				w.finish(fmt.Sprintf("batch%d-00", i))
				if after := w.disrupts(soon); after == 0 {
					t.Fatalf("no node goes after pod %d has ended", i)
				}
				if i == 0 { // the first search of a daemon does all that pays
					w.disrupts(2 * rest)
				}
			}
			if c.gone != nil { // pods that come meanwhile do not use up the wait for calm
				w.pods("late", 1, 3800)
				w.disrupts(5 * time.Minute)
			}
			w.finish(append(c.gone, "batch2-00")...)
			if c.gone == nil {
				w.resting()
			}
			if after := w.disrupts(2 * rest); after < c.least || after > c.most {
				t.Errorf("the next node goes after %s, want %s to %s", after, c.least, c.most)
			}
		})
	}
}

// While the fleet waits for calm or for the next search, each node that waits with it says
// until when. Only while a search goes on, which takes milliseconds, is
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
	for _, want := range []string{"pods have come or gone, or nodes were launched, a short time ago", "the last search was a short time ago", "the nodes that the last search chose go first, for five minutes at most"} {
		if !said[want] {
			t.Errorf("no node waits because %s; said: %v", want, said)
		}
	}
}
