package awssim

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Fault is one way in which calls go wrong.
type Fault struct {
	Service string // e.g. ec2; empty: every service
	Action  string // e.g. CreateFleet; empty: every action

	Share float64 // of the calls that it hits, drawn for each; 0: all

	Latency      time.Duration // waits first, then goes on as the other fields say
	LatencyMost  time.Duration // where it is more than Latency, the wait is drawn between the two
	Code         string        // answers this error and does nothing, e.g. RequestLimitExceeded
	Message      string
	Status       int  // of Code; 400 where zero, 503 for RequestLimitExceeded
	DropResponse bool // does the action, then ends the connection without an answer
	Blackhole    bool // does nothing and answers nothing until the client gives up

	Times int // how many calls it hits; 0: until it is cleared
}

// Faults are those in force. Safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	active []*Fault
}

// Inject puts a fault in force, until Clear or the function that it returns takes it away.
func (f *Faults) Inject(fault Fault) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = append(f.active, &fault)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.active = slices.DeleteFunc(f.active, func(x *Fault) bool { return x == &fault })
	}
}

// Clear takes all faults away.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = nil
}

// take finds the first fault that hits a call, and counts it. Faults that only wait and are not
// counted make it slower, and let another hit it.
func (f *Faults) take(service, action string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wait time.Duration
	for i, fault := range f.active {
		if fault.Service != "" && fault.Service != service || fault.Action != "" && fault.Action != action {
			continue
		}
		if fault.Share > 0 && rand.Float64() >= fault.Share { //nolint:gosec // no secret
			continue
		}
		if *fault == fault.waiting() {
			wait += between(fault.Latency, fault.LatencyMost)
			continue
		}
		hit := *fault
		hit.Latency, hit.LatencyMost = wait+between(fault.Latency, fault.LatencyMost), 0
		if fault.Times == 1 {
			f.active = append(f.active[:i:i], f.active[i+1:]...)
		} else if fault.Times > 1 {
			fault.Times--
		}
		return hit, true
	}
	return Fault{Latency: wait}, wait > 0
}

// waiting is what the fault would be if it only made calls slower.
func (f *Fault) waiting() Fault {
	return Fault{Service: f.Service, Action: f.Action, Share: f.Share, Latency: f.Latency, LatencyMost: f.LatencyMost}
}

// before is what the fault does ahead of the action; an error replaces it.
func (f Fault) before(ctx context.Context) error {
	if f.Latency > 0 {
		timer := time.NewTimer(f.Latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	switch {
	case f.Blackhole:
		<-ctx.Done()
		return &wire.Error{Code: "Blackhole", Message: "the call was swallowed", Status: http.StatusGatewayTimeout}
	case f.Code != "":
		e := &wire.Error{Code: f.Code, Message: f.Message, Status: f.Status}
		if e.Message == "" {
			e.Message = "injected fault"
		}
		if e.Status == 0 && f.Code == "RequestLimitExceeded" {
			e.Status = http.StatusServiceUnavailable
		}
		return e
	}
	return nil
}

// between draws a duration from least to most; least where most is not more.
func between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + rand.N(most-least) //nolint:gosec // no secret
}
