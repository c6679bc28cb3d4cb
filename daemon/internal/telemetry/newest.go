package telemetry

import (
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

// newest hands on what the last Step knew, but not too often.
type newest struct {
	every time.Duration // the shortest time between two calls

	mu    sync.Mutex
	input engine.Input
	armed bool      // a call is scheduled
	last  time.Time // when the last call began
}

// look schedules a call with the newest input, in a goroutine of its own, so that the loop
// does not wait for it.
func (n *newest) look(in engine.Input, call func(engine.Input)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.input = in
	if n.armed {
		return
	}
	n.armed = true
	time.AfterFunc(time.Until(n.last.Add(n.every)), func() {
		n.mu.Lock()
		in := n.input
		n.input, n.armed, n.last = engine.Input{}, false, time.Now()
		n.mu.Unlock()
		call(in)
	})
}
