package world

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// countLag is how long after a launch EC2's count of free places may not include
// the instance yet. A launch in that time before a count is subtracted from the count
// as well. If the count included it already, a place stays unused for a minute. A
// launch that is not subtracted would be worse: the next launch could fail.
const countLag = 5 * time.Second

// ReservationsCounted stores how many more instances fit into each capacity
// reservation, and when EC2 was asked. Snapshots subtract the instances that were
// launched into a reservation since then.
func (w *World) ReservationsCounted(asked time.Time, left map[string]int64) {
	counted := asked.Truncate(time.Second).Add(-countLag) // times on objects are in whole seconds
	w.mu.Lock()
	news := map[string]bool{}
	for id, n := range left {
		was, known := w.translations.rooms[id]
		if !known || was.Left != n || w.launchedInto(id, was.Counted) {
			w.translations.rooms[id], news[id] = translate.Room{Left: n, Counted: counted}, true
		}
	}
	for name, c := range w.objects.classes {
		if slices.ContainsFunc(c.Status.CapacityReservations, func(r awsv1.CapacityReservation) bool { return news[r.ID] }) {
			delete(w.translations.classes, name)
			w.translations.touch(ref{classKind, name})
		}
	}
	subscriber := w.subscriber
	w.mu.Unlock()
	if len(news) > 0 {
		w.notify(concern{}, subscriber)
	}
}

// counted is how many addresses of a subnet were free when EC2 was asked.
type counted struct {
	free  int64
	asked time.Time
}

// AddressesCounted stores how many addresses of each subnet are free, and when EC2 was asked.
func (w *World) AddressesCounted(asked time.Time, free map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for subnet, n := range free {
		w.addresses[subnet] = counted{n, asked}
	}
}

// FreeAddresses returns how many addresses of the subnet were free when EC2 was asked last.
func (w *World) FreeAddresses(subnet string) (free int64, asked time.Time, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, known := w.addresses[subnet]
	return c.free, c.asked, known
}

// launchedInto reports whether an instance was launched into the reservation after
// t. If not, an equal count brings no news.
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
