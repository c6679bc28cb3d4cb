package view

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// View is what every stage of a Step looks at: the cluster at one moment, and the
// settings. No stage changes it.
type View struct {
	Snapshot cluster.Snapshot
	Policy   Policy
	Now      time.Time
	// Claims lists the NodeClaims that need attention, by name: those of
	// Snapshot.Unsettled.
	Claims []*cluster.Claim
}

// Of is the view of the cluster at the moment.
func Of(s cluster.Snapshot, policy Policy, now time.Time) View {
	return View{Snapshot: s, Policy: policy, Now: now, Claims: s.UnsettledClaims()}
}

// TypeOf returns the instance type of the NodeClaim as its class has it, or nil.
func (v View) TypeOf(c cluster.Claim) *catalog.InstanceType {
	class, _ := v.Snapshot.Class(c.Class)
	i, found := slices.BinarySearchFunc(class.Types, c.InstanceType, func(t catalog.InstanceType, name string) int {
		return strings.Compare(t.Name, name)
	})
	if !found {
		return nil
	}
	return &class.Types[i]
}

// PriceOf returns what the NodeClaim's instance costs an hour by the catalogue of
// its class, zero where that is unknown.
func (v View) PriceOf(c cluster.Claim) quantity.Money {
	class, _ := v.Snapshot.Class(c.Class)
	for _, t := range class.Types {
		if t.Name != c.InstanceType {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == c.Zone && o.CapacityType == c.CapacityType {
				return o.Price
			}
		}
	}
	return 0
}

// RunsPods says whether the NodeClaim's node runs something that would need
// another place or must not be disturbed.
func (v View) RunsPods(c cluster.Claim) bool {
	state, ok := v.Snapshot.State(c.Node)
	return ok && c.Node != "" && state.Busy()
}

// Usable says whether pods could run on the node but for the daemon's own taint.
func (v View) Usable(n cluster.Node, c cluster.Claim) bool {
	if !n.Ready || !c.Registered {
		return false
	}
	if slices.ContainsFunc(c.Requests.Extended, func(a quantity.Amount) bool { return n.Allocatable.Get(a.Name) == 0 }) {
		return false // a device that its pods need has not been reported
	}
	return !slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool {
		return t != v.Policy.StartupTaint && !slices.Contains(c.Taints, t) && t.Effect != cluster.PreferNoSchedule
	})
}

// Kept says whether the node is up and only the daemon's own taint keeps pods
// away.
func (v View) Kept(n cluster.Node, c cluster.Claim) bool {
	return v.Usable(n, c) && slices.Contains(n.Taints, v.Policy.StartupTaint)
}

// Stuck says whether a node that has registered had time enough to become ready
// for its pods, and did not: they must not wait for it for ever.
func (v View) Stuck(n cluster.Node, c cluster.Claim) bool {
	return c.Registered && !c.Initialized && !v.Usable(n, c) && !v.Now.Before(v.ReadyBy(c))
}

// ReadyBy returns when the node of the NodeClaim ought to be ready for its pods.
func (v View) ReadyBy(c cluster.Claim) time.Time {
	return c.Created.Add(2 * v.Policy.RegistrationTimeout)
}
