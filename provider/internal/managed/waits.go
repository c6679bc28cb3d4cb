package managed

import (
	"time"
)

// How long operations wait, where more than one kind of resource waits for the same.
const (
	// PlanCheckTimeout bounds the one AWS call of a plan. A plan must also work if AWS
	// cannot be reached.
	PlanCheckTimeout = 3 * time.Second
	// LeftoversWithin is how long a destroy waits until instances are terminated that were
	// told to, and until the daemon has found what has no NodeClaim.
	LeftoversWithin = 3 * time.Minute
	// LeftoversPoll is how often it looks.
	LeftoversPoll = 3 * time.Second
	// ReleasedWithin is how long a deletion waits for objects that nobody has deleted yet, such
	// as that of a node class for node pools that refer to it: a destroy deletes them side by
	// side.
	ReleasedWithin = 15 * time.Second
	// DrainTimeout leaves room for nodes that drain within their pods' budgets.
	DrainTimeout = 30 * time.Minute
	// InUseTimeout is how long a deletion waits for instances, if timeouts does not say
	// otherwise: a node pool that is destroyed at the same time drains for DrainTimeout, then
	// its instances shut down, and the daemon removes what it has made.
	InUseTimeout = DrainTimeout + 10*time.Minute
)
