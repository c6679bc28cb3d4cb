package world

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// countLag is how long an instance may be missing from what EC2 says is left in
// its reservation. Until the next count it is then subtracted twice, which leaves
// a place unused for a minute; the reverse would be a launch that fails.
const countLag = 5 * time.Second

// ReservationsCounted takes in how many more instances have room in capacity
// reservations, and when EC2 was asked. Snapshots subtract what was launched into
// them since.
func (w *World) ReservationsCounted(asked time.Time, left map[string]int64) {
	counted := asked.Truncate(time.Second).Add(-countLag) // times on objects are in whole seconds
	w.mu.Lock()
	news := map[string]bool{}
	for id, n := range left {
		was, known := w.words.rooms[id]
		if !known || was.Left != n || w.launchedInto(id, was.Counted) {
			w.words.rooms[id], news[id] = translate.Room{Left: n, Counted: counted}, true
		}
	}
	for name, c := range w.objects.classes {
		if slices.ContainsFunc(c.Status.CapacityReservations, func(r awsv1.CapacityReservation) bool { return news[r.ID] }) {
			delete(w.words.classes, name)
			w.words.touch(ref{classKind, name})
		}
	}
	subscriber := w.subscriber
	w.mu.Unlock()
	if len(news) > 0 {
		w.notify(concern{}, subscriber)
	}
}

// launchedInto says whether anything was launched into the reservation after t.
// Otherwise a count that is the same says the same.
func (w *World) launchedInto(id string, t time.Time) bool {
	for _, c := range w.objects.claims {
		if c.Labels[label.Reservation] != id {
			continue
		}
		if launched := c.DeepCopy().Conditions().Get(v1.ConditionLaunched); launched.IsTrue() && launched.LastTransitionTime.After(t) {
			return true
		}
	}
	return false
}
