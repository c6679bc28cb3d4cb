package cluster

import (
	"iter"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Most NodeClaims of a large cluster have done what they were made for. The
// index keeps the others at hand, and what all of them take from the limits of
// their pools, so that nothing has to go through all.

// Lot is how many NodeClaims of a pool count alike against its limits: they are
// of one class and instance type. One without a type yet is a Lot of its own.
type Lot struct {
	Class, InstanceType   string
	Capacity, Allocatable quantity.Resources
	Requirements          label.Requirements // only where there is no type yet
	Count                 int64
}

// Unsettled returns the NodeClaims that need attention, by name: all but those
// that are launched, registered, initialized, neither deleting nor interrupted,
// and whose node is there, Ready, neither Cordoned nor Deleting, Busy, and has no
// preference (PreferNoSchedule) that it did not come with.
func (s Snapshot) Unsettled() iter.Seq[Claim] {
	return func(yield func(Claim) bool) {
		for _, c := range s.unsettled.all() {
			if !yield(*c) {
				return
			}
		}
	}
}

// IsUnsettled says whether the named NodeClaim is there and needs attention.
func (s Snapshot) IsUnsettled(claim string) bool {
	_, there := s.unsettled.get(claim)
	return there
}

// Lots returns the NodeClaims of the pool, those that are alike together.
func (s Snapshot) Lots(pool string) iter.Seq[Lot] {
	return func(yield func(Lot) bool) {
		first := string(label.AppendText(nil, pool))
		for key, l := range s.lots.from(first) {
			if !strings.HasPrefix(key, first) || !yield(l) {
				return
			}
		}
	}
}

// InReservation returns the NodeClaims that are or will be in the capacity
// reservation, by name.
func (s Snapshot) InReservation(id string) iter.Seq[Claim] {
	return func(yield func(Claim) bool) {
		first := string(label.AppendText(nil, id))
		for key, c := range s.reserved.from(first) {
			if !strings.HasPrefix(key, first) || !yield(*c) {
				return
			}
		}
	}
}

// Claim returns the NodeClaim that names the node as its own; of several the
// last by name.
func (n *NodeState) Claim() (Claim, bool) {
	if len(n.claims) == 0 {
		return Claim{}, false
	}
	return *n.claims[len(n.claims)-1], true
}

// Leaving says whether the NodeClaim, and its node with it, is on its way out: it
// is being deleted, or EC2 has said that it takes the instance.
func (c *Claim) Leaving() bool { return c.Deleting || c.Interruption != nil }

// Leaving says whether the node is on its way out: by itself, or with the
// NodeClaim whose node it is.
func (n *Node) Leaving(c *Claim) bool { return n.Deleting || c.Leaving() }

// settled says whether the claim, whose node this is, needs no attention. A node
// that is not known is not Ready.
func (c *Claim) settled(l *Load) bool {
	return c.Launched && c.Registered && c.Initialized && l.Node.Ready && !l.Node.Cordoned && !l.Node.Leaving(c) && l.busy > 0 && !c.avoided(l.Node.Taints)
}

// avoided says whether a preference is among the taints of the claim's node that
// the claim did not bring.
func (c *Claim) avoided(taints []Taint) bool {
	return slices.ContainsFunc(taints, func(t Taint) bool {
		return t.Effect == PreferNoSchedule && !slices.Contains(c.Taints, t)
	})
}

// setClaim files the claim under its pool and, where it names a node, leaves it
// to settleLoads whether it is settled.
func (u *update) setClaim(c change[Claim]) {
	if c.old != nil {
		u.unsettled = u.unsettled.remove(u.edit, c.old.Name)
		u.allot(c.old, -1)
		if c.old.Reservation != "" {
			u.reserved = u.reserved.remove(u.edit, c.old.inReservation())
		}
		if c.old.Node != "" {
			l := u.ownLoad(c.old.Node)
			i, _ := l.findClaim(c.old.Name)
			l.claims = slices.Delete(l.claims, i, i+1)
		}
	}
	if c.now != nil {
		u.allot(c.now, 1)
		if c.now.Reservation != "" {
			u.reserved = u.reserved.put(u.edit, c.now.inReservation(), c.now)
		}
		if c.now.Node == "" {
			u.unsettled = u.unsettled.put(u.edit, c.now.Name, c.now)
			return
		}
		l := u.ownLoad(c.now.Node)
		i, _ := l.findClaim(c.now.Name)
		l.claims = slices.Insert(l.claims, i, c.now)
	}
}

// inReservation is where the claim is filed under its reservation.
func (c *Claim) inReservation() string {
	return string(append(label.AppendText(nil, c.Reservation), c.Name...))
}

func (l *Load) findClaim(name string) (int, bool) {
	return slices.BinarySearchFunc(l.claims, name, func(c *Claim, name string) int { return strings.Compare(c.Name, name) })
}

// allot counts n more claims like this one in its pool.
func (u *update) allot(c *Claim, n int64) {
	lot := Lot{Class: c.Class, InstanceType: c.InstanceType, Capacity: c.Capacity, Allocatable: c.Allocatable}
	b := label.AppendText(u.scratch[:0], c.Pool)
	if c.InstanceType == "" {
		lot.Requirements = c.Requirements
		b = label.AppendText(append(b, 'N'), c.Name)
	} else {
		b = label.AppendText(label.AppendText(append(b, 'T'), c.Class), c.InstanceType)
		b = appendResources(appendResources(b, c.Capacity), c.Allocatable)
	}
	u.scratch = b
	key := string(b)
	if was, there := u.lots.get(key); there {
		lot = was
	}
	if lot.Count += n; lot.Count == 0 {
		u.lots = u.lots.remove(u.edit, key)
		return
	}
	u.lots = u.lots.put(u.edit, key, lot)
}
