package provider

import (
	"time"
)

// pace says how long the provider waits for others. What is 0 is as in a release; tests
// wait less.
type pace struct {
	backoff     time.Duration // longest pause between two tries of an AWS call
	propagation time.Duration // see aws.Config
	qps         float32       // requests a second to the API server
	patience    time.Duration // how long the first contact with a cluster may be refused
	stuck       time.Duration // see stuckAfter
	forced      time.Duration // see forcedWithin
	lease       time.Duration // how long a Lease is watched that nobody seems to renew; see leaseExpires
}
