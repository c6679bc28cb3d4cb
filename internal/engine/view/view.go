package view

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// View is what every stage of a Step looks at: the cluster at one moment, and the
// settings. No stage changes it.
type View struct {
	Snapshot cluster.Snapshot
	Policy   Policy
	Now      time.Time
	// Claims lists the NodeClaims of Snapshot.Unsettled: those that need attention,
	// by name.
	Claims []*cluster.Claim
}

// Of is the view of the cluster at the moment.
func Of(s cluster.Snapshot, policy Policy, now time.Time) View {
	return View{Snapshot: s, Policy: policy, Now: now, Claims: s.Unsettled()}
}

// TypeOf returns the instance type of the NodeClaim from the catalogue of its
// class; nil if the catalogue does not have it.
func (v View) TypeOf(c cluster.Claim) *catalog.InstanceType {
	class, _ := v.Snapshot.Class(c.Class)
	if t := named(class.Types, c.InstanceType); len(t) > 0 {
		return &t[0]
	}
	return nil
}

// named returns the part of the types, which are sorted, that has the name.
func named(types []catalog.InstanceType, name string) []catalog.InstanceType {
	i, found := slices.BinarySearchFunc(types, name, func(t catalog.InstanceType, name string) int { return strings.Compare(t.Name, name) })
	if !found {
		return nil
	}
	return types[i : i+1]
}

// PriceOf returns what the NodeClaim's instance costs an hour, by the catalogue of
// its class. Before the launch, it is the price of the cheapest node that the
// NodeClaim may become.
func (v View) PriceOf(c cluster.Claim) (least quantity.Money, known bool) {
	class, _ := v.Snapshot.Class(c.Class)
	types, is := class.Types, c.Requirements.Admits
	if c.Launched {
		of := map[string]string{label.InstanceType: c.InstanceType, label.Zone: c.Zone, label.CapacityType: c.CapacityType}
		types, is = named(types, c.InstanceType), func(key, value string) bool { return of[key] == value }
	}
	for i := range types {
		if !is(label.InstanceType, types[i].Name) {
			continue
		}
		for _, o := range types[i].Offerings {
			unpriced := o.Price < 0 || o.Price == 0 && o.Reservation == ""
			same := is(label.Zone, o.Zone) && is(label.CapacityType, o.CapacityType) && (c.Reservation == "" || o.Reservation == c.Reservation)
			if same && !unpriced && (!known || o.Price < least) {
				least, known = o.Price, true
			}
		}
	}
	return least, known
}

// ExtraOf returns what a node of the class costs an hour beside its instance.
func (v View) ExtraOf(class string) plan.Extra {
	c, _ := v.Snapshot.Class(class)
	return plan.Extra{Volumes: c.Volumes, Addresses: c.Address, Nodes: v.Policy.NodeCost}
}

// ClaimOf returns the NodeClaim of the node: the one that the node names or, where
// that is not known, one that names the node.
func (v View) ClaimOf(state *cluster.NodeState) cluster.Claim {
	c, known := v.Snapshot.Claim(state.Node.Claim)
	if !known {
		c, _ = state.Claim()
	}
	return c
}

// Expected says whether the pod has a place on the node that others than the daemon
// nominated it for. The node's room for it is spoken for; see NodeState.Nominated.
func (v View) Expected(p *cluster.Pod) bool {
	state, there := v.Snapshot.State(p.Nominated)
	if !there || !p.NominatedByOthers() {
		return false
	}
	c := v.ClaimOf(state)
	return state.Node.TakesPods(&c)
}

// RunsPods says whether the NodeClaim's node runs a pod that would need another
// place or that must not be disrupted.
func (v View) RunsPods(c cluster.Claim) bool {
	state, ok := v.Snapshot.State(c.Node)
	return ok && c.Node != "" && state.Busy()
}

// Usable says whether pods could run on the node if the daemon's own taint were
// off.
func (v View) Usable(n cluster.Node, c cluster.Claim) bool {
	if !n.Ready || !c.Registered {
		return false
	}
	if slices.ContainsFunc(c.Requests.Extended, func(a quantity.Amount) bool { return n.Allocatable.Get(a.Name) == 0 }) {
		return false // a device that the pods need is not reported yet
	}
	return !slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool {
		return t != v.Policy.StartupTaint && !slices.Contains(c.Taints, t) && t.Effect != cluster.PreferNoSchedule
	})
}

// Kept says whether the node is up and only the daemon's own taint keeps pods away.
func (v View) Kept(n cluster.Node, c cluster.Claim) bool {
	return v.Usable(n, c) && slices.Contains(n.Taints, v.Policy.StartupTaint)
}

// RegisteredBy returns when the NodeClaim ought to be launched or, once it is, to be
// registered.
func (v View) RegisteredBy(c cluster.Claim) time.Time {
	if !c.Launched {
		return c.Created.Add(v.Policy.LaunchTimeout)
	}
	return c.Created.Add(v.Policy.RegistrationTimeout)
}

// Late says whether the NodeClaim had time enough to get a node that registers, and
// did not.
func (v View) Late(c cluster.Claim) bool { return !c.Registered && !v.Now.Before(v.RegisteredBy(c)) }

// Stuck says whether a registered node did not become ready for its pods in time.
// The pods must not wait for such a node for ever.
func (v View) Stuck(n cluster.Node, c cluster.Claim) bool {
	return c.Registered && !c.Initialized && !v.Usable(n, c) && !v.Now.Before(v.ReadyBy(c))
}

// ReadyBy returns when the node of the NodeClaim should be ready for its pods.
func (v View) ReadyBy(c cluster.Claim) time.Time {
	return c.Created.Add(2 * v.Policy.RegistrationTimeout)
}
