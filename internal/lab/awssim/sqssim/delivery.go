package sqssim

import (
	"math/rand/v2"
	"time"
)

// Delivery is how messages of AWS services come: lost, more than once, late, and so in another
// order. Its zero value delivers each at once, in order, once. SQS promises no more than that a
// message comes at least once.
type Delivery struct {
	Lost, Repeated float64       // shares of the messages
	Late           time.Duration // the longest delay; drawn for each
}

// SetDelivery says how messages of AWS services come from now on.
func (s *Service) SetDelivery(d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivery = d
}

// send puts the message into the queue as often as it comes.
func (d Delivery) send(q *queue, body, sender string, now time.Time) error {
	if d.Lost > 0 && rand.Float64() < d.Lost { //nolint:gosec // no secret
		return nil
	}
	copies := 1
	if d.Repeated > 0 && rand.Float64() < d.Repeated { //nolint:gosec // no secret
		copies++
	}
	for range copies {
		m, err := q.send(body, sender, now)
		if err != nil {
			return err
		}
		if d.Late > 0 {
			m.visibleAt = m.visibleAt.Add(rand.N(d.Late)) //nolint:gosec // no secret
		}
	}
	return nil
}
