package awssim

import (
	"slices"
	"sync"
	"time"
)

// maxCalls bounds the log of a laboratory that runs for days.
const maxCalls = 20000

// Call is one call that the cloud received.
type Call struct {
	Time      time.Time // when it was received
	Service   string
	Action    string
	Identity  string // ARN of the caller; empty where it was not known
	ErrorCode string // empty: it succeeded
	RequestID string
	Dropped   bool // a fault withheld the answer
}

type callLog struct {
	mu    sync.Mutex
	calls []Call
}

func (l *callLog) add(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= maxCalls {
		l.calls = slices.Clone(l.calls[maxCalls/2:])
	}
	l.calls = append(l.calls, c)
}

// Calls are the latest calls, at least 10,000 where there were so many, in the
// order of their answers.
func (c *Cloud) Calls() []Call {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return slices.Clone(c.calls.calls)
}
