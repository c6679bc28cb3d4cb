package provider

import (
	"time"
)

// How long operations wait, where more than one kind of resource waits for the same.
const (
	// planCheckTimeout bounds the one AWS call of a plan. A plan must also work if AWS
	// cannot be reached.
	planCheckTimeout = 3 * time.Second
	// leftoversWithin is how long a destroy waits until instances are terminated that were
	// told to, and until the daemon has found what has no NodeClaim.
	leftoversWithin = 3 * time.Minute
	// leftoversPoll is how often it looks.
	leftoversPoll = 3 * time.Second
	// releasedWithin is how long a deletion waits for objects that nobody has deleted yet, such
	// as that of a node class for node pools that refer to it: a destroy deletes them side by
	// side.
	releasedWithin = 15 * time.Second
	// drainTimeout leaves room for nodes that drain within their pods' budgets.
	drainTimeout = 30 * time.Minute
	// inUseTimeout is how long a deletion waits for instances, if timeouts does not say
	// otherwise: a node pool that is destroyed at the same time drains for drainTimeout, then
	// its instances shut down, and the daemon removes what it has made.
	inUseTimeout = drainTimeout + 10*time.Minute
)
