package sqssim

import (
	"testing"
	"time"
)

func TestDelivery_LosesRepeatsAndDelays(t *testing.T) {
	now := time.Unix(1000, 0)
	arrived := func(d Delivery) *queue {
		q := &queue{attributes: map[string]string{"MaximumMessageSize": "1000"}, changed: make(chan struct{})}
		for range 100 {
			if err := d.send(q, "body", "events", now); err != nil {
				t.Fatal(err)
			}
		}
		return q
	}
	if n := len(arrived(Delivery{}).messages); n != 100 {
		t.Errorf("%d of 100 messages arrive by default", n)
	}
	if n := len(arrived(Delivery{Lost: 1}).messages); n != 0 {
		t.Errorf("%d messages arrive though all are lost", n)
	}
	if n := len(arrived(Delivery{Repeated: 1}).messages); n != 200 {
		t.Errorf("%d messages arrive, want each twice", n)
	}
	late, swapped := 0, 0
	q := arrived(Delivery{Late: time.Minute})
	for i, m := range q.messages {
		if m.visibleAt.After(now) && !m.visibleAt.After(now.Add(time.Minute)) {
			late++
		}
		if i > 0 && m.visibleAt.Before(q.messages[i-1].visibleAt) {
			swapped++
		}
	}
	if late < 90 || swapped < 10 {
		t.Errorf("%d of 100 messages are late within a minute, %d before one that was sent earlier", late, swapped)
	}
}
