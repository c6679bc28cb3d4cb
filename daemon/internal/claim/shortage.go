package claim

import (
	"fmt"
	"sync"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// shortages is what is known of capacity. The decision core gets each new version; launches
// that are already ordered are held against it, too.
type shortages struct {
	mu    sync.Mutex
	known engine.Shortages
}

// tried notes what came of a launch of the NodeClaim. The result names the offering that was
// launched; it is zero if none was.
func (c *Controller) tried(claim *v1.NodeClaim, launched catalog.OfferingKey, failed []aws.OfferingFailure) {
	failed = c.scarce(claim, failed)
	t := engine.Tried{Pool: poolOf(claim), Launched: launched, Lacks: make([]engine.Lack, len(failed))}
	for i, f := range failed {
		t.Lacks[i] = engine.Lack{Offering: f.OfferingKey, Reach: f.Reach, Why: engine.Cause{Code: f.Code, Message: f.Message}}
	}
	c.learn(t)
}

// learn notes what was tried, and tells the decision core, unless there is nothing to tell.
func (c *Controller) learn(t engine.Tried) {
	c.shortages.mu.Lock()
	defer c.shortages.mu.Unlock()
	if len(t.Lacks) == 0 && len(c.shortages.known.Unavailable) == 0 && len(c.shortages.known.Failing) == 0 {
		return
	}
	c.shortages.known = c.shortages.known.After(t, c.Now())
	c.Scarcity.Shortages(c.shortages.known)
}

// Warned notes that EC2 takes the instance of the NodeClaim: what comes in its place is launched
// from another offering for a while.
func (c *Controller) Warned(claim *v1.NodeClaim) {
	key := catalog.OfferingKey{InstanceType: claim.Labels[label.InstanceType], Zone: claim.Labels[label.Zone], CapacityType: claim.Labels[label.CapacityType]}
	if key.InstanceType == "" || key.CapacityType != label.Spot {
		return
	}
	why := engine.Cause{Code: "SpotInterruptionWarning", Message: "EC2 takes back an instance of this type in this zone"}
	c.learn(engine.Tried{Warned: true, Lacks: []engine.Lack{{Offering: key, Why: why}}})
}

// shut says whether every offering of the request is known to lack capacity, until when the
// first of them is left out, and why that is.
func (c *Controller) shut(claim *v1.NodeClaim, r aws.LaunchRequest) (until time.Time, why engine.Cause, shut bool) {
	c.shortages.mu.Lock()
	known := c.shortages.known // never changed, only replaced
	c.shortages.mu.Unlock()
	for _, o := range r.Overrides {
		key := catalog.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType, Reservation: r.Reservation}
		next, cause, out := known.Shut(poolOf(claim), key, c.Now())
		if !out {
			return time.Time{}, engine.Cause{}, false
		}
		if first := pick.Earliest(until, next); first != until {
			until, why = first, cause
		}
	}
	return until, why, !until.IsZero()
}

// noCapacity ends a NodeClaim whose launch found no capacity. A new plan follows for its
// pods, without these offerings.
func (c *Controller) noCapacity(claim *v1.NodeClaim, scarcity *aws.InsufficientCapacityError, request aws.LaunchRequest) {
	c.gate.lacked(poolOf(claim))
	c.tried(claim, catalog.OfferingKey{}, scarcity.Offerings)
	next, _, _ := c.shut(claim, request)
	f := scarcity.Offerings[0]
	c.Recorder.LaunchesFail(claim, f.Code, fmt.Sprintf("no capacity for %s in %s (%s): %s", f.InstanceType, f.Zone, f.CapacityType, plan.Shortage(f.Code, f.Message)), next)
}
