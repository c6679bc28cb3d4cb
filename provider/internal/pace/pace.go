package pace

import (
	"time"
)

// Pace says how long the provider waits for others. What is 0 is as in a release; tests
// wait less.
type Pace struct {
	Backoff     time.Duration // longest pause between two tries of an AWS call
	Propagation time.Duration // see Propagation of aws.Config
	QPS         float32       // requests a second to the API server
	Patience    time.Duration // how long the first contact with a cluster may be refused
	Stuck       time.Duration // how long Ready may be False before the wait for it ends
	Forced      time.Duration // how long the daemon has to terminate the nodes of a pool at once
	Lease       time.Duration // how long a Lease is watched that nobody seems to renew: several polls of package daemon
}
