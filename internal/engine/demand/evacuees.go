package demand

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// Evacuees is the pods of nodes about to be deleted that may stay yet, as a part of the
// demand. They are served after all others: what they do not find keeps their nodes.
type Evacuees struct{ of *Demand }

// Evacuees returns the pods of nodes about to be deleted.
func (d *Demand) Evacuees() Evacuees { return Evacuees{d} }

// PutAside takes the pods of nodes about to be deleted out of the demand, as far as they
// have no place yet: they are served last.
func (e Evacuees) PutAside() {
	if len(e.of.Going) == 0 {
		return
	}
	for _, c := range e.of.Classes {
		c.going = pick.Those(c.Displaced, e.isGoing)
		c.Displaced = pick.Those(c.Displaced, func(p PodRef) bool { return !e.isGoing(p) })
		e.of.tellRunning(c, c.going, 1) // others do not take their place while they may stay
	}
}

// BringBack puts the pods back that PutAside took out, and keeps all other
// demand away until Stay is called: it has been served.
func (e Evacuees) BringBack() {
	for _, c := range e.of.Classes {
		c.served = Draw{c.Pods, c.Displaced, c.Declared}
		c.Pods, c.Displaced, c.Declared, c.going = nil, c.going, 0, nil
		e.of.tellRunning(c, c.Displaced, -1)
		if len(c.Displaced) > 0 {
			c.Level = 0
		}
	}
}

// BringOthersBack brings the demand back that BringBack kept away. Pods of nodes about
// to be deleted that have found a place meanwhile still count where they run, too: they
// are there until their nodes are deleted.
func (e Evacuees) BringOthersBack(found []PodRef) {
	for _, c := range e.of.Classes {
		c.Pods, c.Declared, c.Displaced = c.served.Pods, c.served.Declared, slices.Concat(c.served.Displaced, c.Displaced)
		c.served = Draw{}
	}
	for _, p := range found {
		if g, known := e.of.Snapshot.GroupOf(p.ID); known {
			e.of.tellRunning(e.of.byKey[g.Key], []PodRef{p}, 1)
		}
	}
}

// KeepSupposed takes all pods out of the demand but those of nodes that are only supposed
// to be deleted: nodes may be launched for them.
func (e Evacuees) KeepSupposed() {
	supposed := func(p PodRef) bool { n, _ := e.of.Snapshot.Node(p.Node); return e.of.Supposed[n.Claim] }
	for _, c := range e.of.Classes {
		c.going = pick.Those(c.Displaced, func(p PodRef) bool { return !supposed(p) })
		c.Displaced = pick.Those(c.Displaced, supposed)
	}
}

// Stay takes those pods of nodes about to be deleted out of the demand for good that found
// no place, and returns their nodes. It brings the other demand back.
func (e Evacuees) Stay() (nodes map[string]bool) {
	nodes = map[string]bool{}
	for _, c := range e.of.Classes {
		c.Displaced, c.going = slices.Concat(c.Displaced, c.going), nil
		for _, p := range c.Displaced {
			nodes[p.Node] = true
		}
		c.Had -= int64(len(c.Displaced)) // they need no place
		e.of.tellRunning(c, c.Displaced, 1)
		c.Pods, c.Displaced, c.Declared, c.served = c.served.Pods, c.served.Displaced, c.served.Declared, Draw{}
	}
	return nodes
}

// isGoing says whether the displaced pod's node is about to be deleted and may stay yet.
func (e Evacuees) isGoing(p PodRef) bool {
	n, _ := e.of.Snapshot.Node(p.Node)
	c, known := e.of.Snapshot.Claim(n.Claim)
	return known && e.of.IsGoing(n.Claim) && !n.Leaving(&c)
}
