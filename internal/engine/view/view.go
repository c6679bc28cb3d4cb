package view

import (
	"maps"
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
	// Claims lists the NodeClaims of Snapshot.InTransition: those that need attention,
	// by name.
	Claims []*cluster.Claim
	// Going has the NodeClaims that are about to be deleted although nothing forces
	// that, and those of which a plan supposes so, each with the reason. Their nodes
	// take no pods, and their pods need other places. A node of which a pod finds no
	// place stays.
	Going map[string]plan.DeleteReason
	// Supposed names those of them that only this plan supposes to be deleted. If Replaces
	// is set, nodes may be launched for their pods. For the pods of the others nothing is
	// launched.
	Supposed map[string]bool
	Replaces bool
	// Emptying names the nodes that are to be deleted next. Pods of nodes about to be
	// deleted are not put there, as they would move twice, and others only if there is
	// no other room.
	Emptying map[string]bool
	// Places lists, by kind, where the pods of nodes that are deleted to save money are
	// to run.
	Places map[string][]Place
}

// Place is a node that is to run some pods of a kind in the end.
type Place struct {
	Node string
	Most int64 // pods of the kind, those that run there already included
}

// Of is the view of the cluster at the moment.
func Of(s cluster.Snapshot, policy Policy, now time.Time) View {
	v := View{Snapshot: s, Policy: policy, Now: now, Claims: s.InTransition()}
	if going := v.announced(); len(going) > 0 {
		return v.With(going)
	}
	return v
}

// Suppose returns the view in which these NodeClaims are about to be deleted, too.
func (v View) Suppose(going map[string]plan.DeleteReason) View {
	v.Supposed = map[string]bool{}
	for name := range going {
		v.Supposed[name] = !v.IsGoing(name)
	}
	return v.With(going)
}

// With returns the view in which these NodeClaims are about to be deleted for sure, each
// for its reason.
func (v View) With(going map[string]plan.DeleteReason) View {
	all := maps.Clone(v.Going)
	if all == nil {
		all = map[string]plan.DeleteReason{}
	}
	list := slices.Clone(v.Claims)
	for name, why := range going {
		c, there := v.Snapshot.Claim(name)
		if _, known := all[name]; !there || known || c.Leaving() {
			continue
		}
		all[name] = why
		if !v.Snapshot.IsInTransition(name) {
			list = append(list, &c)
		}
	}
	slices.SortFunc(list, func(a, b *cluster.Claim) int { return strings.Compare(a.Name, b.Name) })
	v.Going, v.Claims = all, list
	return v
}

// announced returns the NodeClaims that their conditions or the moves of others say
// are about to be deleted.
func (v View) announced() map[string]plan.DeleteReason {
	out := map[string]plan.DeleteReason{}
	for _, c := range v.Claims {
		if c.Disrupting != nil {
			out[c.Name] = plan.DeleteReason(c.Disrupting.Reason)
		}
		for _, s := range v.Snapshot.SourcesOf(c) {
			if _, known := out[s.Name]; !known {
				out[s.Name] = plan.DeleteReason(c.Move.Reason)
			}
		}
	}
	return out
}

// IsGoing says whether the NodeClaim is in Going.
func (v View) IsGoing(claim string) bool { _, yes := v.Going[claim]; return yes }

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
func (v View) PriceOf(c cluster.Claim) (lowest quantity.Money, known bool) {
	o := v.offeringOf(c)
	if o == nil {
		return 0, false
	}
	return o.Price, true
}

// StandsIn says whether the price of the NodeClaim's instance stands in for one that nobody
// knows.
func (v View) StandsIn(c cluster.Claim) bool {
	o := v.offeringOf(c)
	return o != nil && o.StandIn
}

// offeringOf returns the offering of the NodeClaim's instance, or the cheapest that it may
// become; nil where none has a price.
func (v View) offeringOf(c cluster.Claim) (cheapest *catalog.Offering) {
	class, _ := v.Snapshot.Class(c.Class)
	types, matches := class.Types, c.Requirements.Admits
	if c.Launched {
		of := map[string]string{label.InstanceType: c.InstanceType, label.Zone: c.Zone, label.CapacityType: c.CapacityType}
		types, matches = named(types, c.InstanceType), func(key, value string) bool { return of[key] == value }
	}
	for i := range types {
		if !matches(label.InstanceType, types[i].Name) {
			continue
		}
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			unpriced := o.Price < 0 || o.Price == 0 && o.Reservation == ""
			same := matches(label.Zone, o.Zone) && matches(label.CapacityType, o.CapacityType) && (c.Reservation == "" || o.Reservation == c.Reservation)
			if same && !unpriced && (cheapest == nil || o.Price < cheapest.Price) {
				cheapest = o
			}
		}
	}
	return cheapest
}

// ExtraOf returns what a node of the class costs an hour beside its instance.
func (v View) ExtraOf(class string) plan.Extra {
	c, _ := v.Snapshot.Class(class)
	return plan.Extra{Volumes: c.Volumes, Addresses: c.Address, Nodes: v.Policy.NodeCost}
}

// CostOf returns what the whole node of the NodeClaim costs an hour: its instance, as
// PriceOf has it, and what the node costs beside. An instance without a known price counts
// nothing.
func (v View) CostOf(c cluster.Claim) (cost quantity.Money, known bool) {
	price, known := v.PriceOf(c)
	return price.Add(v.ExtraOf(c.Class).Total()), known
}

// LeastCostOf returns what the whole node costs an hour at least: an instance whose price
// stands in for one that nobody knows counts nothing.
func (v View) LeastCostOf(c cluster.Claim) quantity.Money {
	cost, _ := v.CostOf(c)
	if v.StandsIn(c) {
		return v.ExtraOf(c.Class).Total()
	}
	return cost
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
// nominated it for, and that stays. The node's room for it is spoken for; see
// NodeState.Nominated.
func (v View) Expected(p *cluster.Pod) bool {
	state, there := v.Snapshot.State(p.Nominated)
	if !there || !p.NominatedByOthers() {
		return false
	}
	c := v.ClaimOf(state)
	return state.Node.TakesPods(&c) && !v.IsGoing(c.Name)
}

// RunsPods says whether the NodeClaim's node runs a pod that would need another
// place or that must not be disrupted.
func (v View) RunsPods(c cluster.Claim) bool {
	state, ok := v.Snapshot.State(c.Node)
	return ok && c.Node != "" && state.Busy()
}

// Usable says whether pods could run on the node if the daemon's own taint were
// off, and if they tolerate the taints that nobody declared.
func (v View) Usable(n cluster.Node, c cluster.Claim) bool {
	return v.Clear(n, c) && !lacksDevices(n, c)
}

// AwaitsDevices says whether the node lacks nothing but devices that its pods need, and
// the daemon's own taint may keep the pods away that would report them.
func (v View) AwaitsDevices(n cluster.Node, c cluster.Claim) bool {
	return v.Clear(n, c) && lacksDevices(n, c) && slices.Contains(n.Taints, v.Policy.StartupTaint)
}

// Clear says whether the node is ready and has lost the taints of a starting node, but for
// the daemon's own. Karpenter waits for the same taints. Others may never be removed:
// package room says whether the node's pods tolerate them.
func (v View) Clear(n cluster.Node, c cluster.Claim) bool {
	return n.Ready && c.Registered && !c.Starting(n.Taints)
}

// lacksDevices says whether a device that the pods need is not reported yet.
func lacksDevices(n cluster.Node, c cluster.Claim) bool {
	return slices.ContainsFunc(c.Requests.Extended, func(a quantity.Amount) bool { return n.Allocatable.Get(a.Name) == 0 })
}

// IsKept says whether the node is up and only the daemon's own taint keeps pods away.
func (v View) IsKept(n cluster.Node, c cluster.Claim) bool {
	return v.Usable(n, c) && slices.Contains(n.Taints, v.Policy.StartupTaint)
}

// Closed says whether the node had opened and is closed for a moment; see plan.Close.
func (v View) Closed(n *cluster.Node, c *cluster.Claim) bool {
	return c.Initialized && slices.Contains(n.Taints, v.Policy.StartupTaint)
}

// RegisteredBy returns when the NodeClaim ought to be launched or, once it is, to be
// registered.
func (v View) RegisteredBy(c cluster.Claim) time.Time {
	if !c.Launched {
		return v.afterGrace(begun(c, v.Policy.Hindrances).Add(v.Policy.LaunchTimeout))
	}
	return v.afterGrace(begun(c, v.Policy.Hindrances).Add(v.Policy.RegistrationTimeout))
}

// begun is when the NodeClaim was created, by the clock as it is since it jumped ahead.
func begun(c cluster.Claim, h Hindrances) time.Time {
	if c.Created.Before(h.JumpedAt) {
		return c.Created.Add(h.Jumped)
	}
	return c.Created
}

// afterGrace is the time, but not before the grace after Hindrances.Back is over.
func (v View) afterGrace(t time.Time) time.Time {
	if grace := v.Policy.Back.Add(v.Policy.BackGrace); !v.Policy.Back.IsZero() && grace.After(t) {
		return grace
	}
	return t
}

// Late says whether the NodeClaim had time enough to get a node that registers, and
// did not. Time does not count while the cloud is away.
func (v View) Late(c cluster.Claim) bool {
	return !c.Registered && !v.Policy.CloudAway && !v.Now.Before(v.RegisteredBy(c))
}

// Stuck says whether a registered node that is not usable had time enough to become so.
// The pods must not wait for such a node for ever. Time does not count while the cloud
// is away.
func (v View) Stuck(c cluster.Claim) bool {
	return c.Registered && !v.Policy.CloudAway && !c.Initialized && !v.Now.Before(v.ReadyBy(c))
}

// ReadyBy returns when the node of the NodeClaim should be ready for its pods.
func (v View) ReadyBy(c cluster.Claim) time.Time {
	return v.afterGrace(begun(c, v.Policy.Hindrances).Add(2 * v.Policy.RegistrationTimeout))
}
