package awssim

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// tokens is the size of a token bucket, and how many tokens it gets back in a second.
type tokens struct{ size, refill float64 }

// bucketOf is the bucket that EC2 documents for an action. Source: the EC2 developer guide,
// Request throttling; Karpenter's simulated EC2 has the same numbers.
func bucketOf(action string) tokens {
	switch {
	case strings.HasPrefix(action, "Describe"), strings.HasPrefix(action, "Get"):
		return tokens{100, 20}
	case action == "TerminateInstances":
		return tokens{100, 5}
	case action == "CreateTags", action == "DeleteTags":
		return tokens{100, 10}
	case action == "RunInstances":
		return tokens{5, 2}
	}
	return tokens{50, 5}
}

// throttle counts the calls to EC2 of the account, by action. Its zero value lets every call
// pass.
type throttle struct {
	mu      sync.Mutex
	on      bool
	buckets map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// Throttle makes EC2 refuse calls beyond its documented limits with RequestLimitExceeded, or
// stop doing so.
func (c *Cloud) Throttle(on bool) {
	c.throttle.mu.Lock()
	defer c.throttle.mu.Unlock()
	c.throttle.on, c.throttle.buckets = on, map[string]bucket{}
}

// take takes a token for the call, or is the error where there is none.
func (t *throttle) take(service, action string, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on || service != "ec2" {
		return nil
	}
	has := bucketOf(action)
	b, used := t.buckets[action]
	if !used {
		b = bucket{has.size, now}
	}
	b.left, b.at = min(has.size, b.left+now.Sub(b.at).Seconds()*has.refill), now
	enough := b.left >= 1
	if enough {
		b.left--
	}
	t.buckets[action] = b
	if !enough {
		return &wire.Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded.", Status: http.StatusServiceUnavailable}
	}
	return nil
}
