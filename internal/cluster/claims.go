package cluster

import (
	"iter"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Most NodeClaims of a large cluster need no more attention. The index lists the
// other NodeClaims apart, and counts what the NodeClaims of a pool take from its
// limits, so that no caller has to visit every NodeClaim.

// Lot counts NodeClaims that take the same from the limits of their pool:
// NodeClaims of one class and one instance type, or, where there is no type yet,
// NodeClaims that may become the same.
type Lot struct {
	Class, InstanceType   string
	Capacity, Allocatable quantity.Resources
	Requirements          label.Requirements // only where there is no type yet
	Count                 int64

	labels label.Labels // likewise
	taints []Taint      // likewise
}

// InTransition returns the NodeClaims that need attention, by name. A NodeClaim
// needs no attention if it is launched, registered and initialized, neither
// deleting, interrupted nor about to be deleted, replaces nothing, and if its node is
// known, Ready, neither Cordoned, Disrupted nor Deleting, Busy, and has neither a
// preference (PreferNoSchedule) that the NodeClaim does not have nor a taint of the
// daemon. Callers must not change them.
func (s Snapshot) InTransition() []*Claim { return s.inTransition.list() }

// IsInTransition says whether the named NodeClaim exists and needs attention.
func (s Snapshot) IsInTransition(claim string) bool {
	_, there := s.inTransition.get(claim)
	return there
}

// Lots returns the Lots of the pool's NodeClaims.
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

// InReservation returns, by name, the NodeClaims that are in the capacity
// reservation or ask for it.
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

// Claim returns the NodeClaim that names the node as its own. If several do, it
// returns the last of them by name.
func (n *NodeState) Claim() (Claim, bool) {
	if len(n.claims) == 0 {
		return Claim{}, false
	}
	return *n.claims[len(n.claims)-1], true
}

// Leaving says whether the NodeClaim leaves, together with its node: it is
// being deleted, or EC2 has announced that it takes the instance.
func (c *Claim) Leaving() bool { return c.Deleting || c.Interruption != nil }

// Leaving says whether the node leaves: the node is being deleted, or its
// NodeClaim c is leaving.
func (n *Node) Leaving(c *Claim) bool { return n.Deleting || c.Leaving() }

// TakesPods says whether the node, whose NodeClaim is c, takes new pods: it is not
// cordoned, and does not leave nor is about to.
func (n *Node) TakesPods(c *Claim) bool { return !n.Cordoned && !n.Disrupted && !n.Leaving(c) }

// SourcesOf returns the NodeClaims that the move of this one takes away and that are
// not leaving yet; none if it replaces nothing, or is leaving itself.
func (s Snapshot) SourcesOf(c *Claim) (out []Claim) {
	if c.Move == nil || c.Leaving() {
		return nil
	}
	for _, source := range c.Move.Sources {
		if x, there := s.claims.rows.get(source.Claim); there && x.UID == source.UID && !x.Leaving() {
			out = append(out, *x)
		}
	}
	return out
}

// Replaces says whether SourcesOf returns any, without copies.
func (s Snapshot) Replaces(c *Claim) bool {
	return c.Move != nil && !c.Leaving() && slices.ContainsFunc(c.Move.Sources, func(source Source) bool {
		x, there := s.claims.rows.get(source.Claim)
		return there && x.UID == source.UID && !x.Leaving()
	})
}

// steady says whether the claim needs no attention. l is the load of its node.
// An unknown node is not Ready.
func (c *Claim) steady(l *Load) bool {
	return c.Launched && c.Registered && c.Initialized && c.Disrupting == nil && c.Move == nil &&
		l.Node.Ready && l.Node.TakesPods(c) && l.busy > 0 && !c.marked(l.Node.Taints)
}

// marked says whether the taints of the claim's node include one of the daemon, or a
// preference that the claim itself does not have.
func (c *Claim) marked(taints []Taint) bool {
	return slices.ContainsFunc(taints, func(t Taint) bool {
		return (t.Effect == PreferNoSchedule || strings.HasPrefix(t.Key, ownTaints)) && !slices.Contains(c.Taints, t)
	})
}

// setClaim files the claim under its pool. Where the claim names a node,
// fileLoads decides later whether the claim is in transition.
func (u *update) setClaim(c change[Claim]) {
	if c.now != nil {
		u.allot(c.now, 1) // before the old one leaves, so that a Lot that stays is one Lot
	}
	if c.old != nil {
		u.inTransition = u.inTransition.remove(u.edit, c.old.Name)
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
		if c.now.Reservation != "" {
			u.reserved = u.reserved.put(u.edit, c.now.inReservation(), c.now)
		}
		if c.now.Node == "" {
			u.inTransition = u.inTransition.put(u.edit, c.now.Name, c.now)
			return
		}
		l := u.ownLoad(c.now.Node)
		i, _ := l.findClaim(c.now.Name)
		l.claims = slices.Insert(l.claims, i, c.now)
	}
}

// inReservation is the key under which a reservation lists the claim.
func (c *Claim) inReservation() string {
	return string(append(label.AppendText(nil, c.Reservation), c.Name...))
}

func (l *Load) findClaim(name string) (int, bool) {
	return slices.BinarySearchFunc(l.claims, name, func(c *Claim, name string) int { return strings.Compare(c.Name, name) })
}

// allot counts n more claims like this one in its pool.
func (u *update) allot(c *Claim, n int64) {
	lot := Lot{Class: c.Class, InstanceType: c.InstanceType, Capacity: c.Capacity, Allocatable: c.Allocatable}
	b := label.AppendText(label.AppendText(u.scratch[:0], c.Pool), c.Class)
	if c.InstanceType == "" {
		lot.Requirements, lot.labels, lot.taints = c.Requirements, c.Labels, c.Taints
		b = c.Labels.AppendKey(c.Requirements.AppendKey(label.AppendText(append(b, 'N'), c.Reservation)))
		b = label.AppendNumber(b, int64(len(c.Taints)))
		for _, t := range c.Taints {
			b = label.AppendText(label.AppendText(label.AppendText(b, t.Key), t.Value), t.Effect)
		}
	} else {
		b = label.AppendText(append(b, 'T'), c.InstanceType)
	}
	b = appendResources(appendResources(b, c.Capacity), c.Allocatable)
	u.scratch = b
	key := string(b)
	if was, there := u.lots.get(key); there {
		lot = was
	}
	if n > 0 && c.InstanceType == "" {
		lot.share(c)
	}
	if lot.Count += n; lot.Count == 0 {
		u.lots = u.lots.remove(u.edit, key)
		return
	}
	u.lots = u.lots.put(u.edit, key, lot)
}

// share lets the claim use the lot's memory for what both have. A plan makes
// thousands of NodeClaims with the same list of hundreds of types, and who asks the
// same of one after the other can tell by the memory that it is the same.
func (l *Lot) share(c *Claim) {
	if len(c.Requirements) > 0 && &c.Requirements[0] != &l.Requirements[0] {
		c.Requirements = l.Requirements
	}
	if len(c.Labels) > 0 && &c.Labels[0] != &l.labels[0] {
		c.Labels = l.labels
	}
	if len(c.Taints) > 0 && &c.Taints[0] != &l.taints[0] {
		c.Taints = l.taints
	}
}
