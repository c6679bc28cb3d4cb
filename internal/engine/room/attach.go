package room

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// attach is what is known of one driver's slots to attach volumes, beside what
// the instance types say.
type attach struct {
	name  string           // as a resource
	most  int64            // that the driver has named of any node; 0 where it has of none
	named map[string]int64 // likewise, of nodes of the instance type
	// own says that the driver has named fewer of every node than its type says: it
	// goes by a number of its own.
	own   bool
	bound bool // some new node has only so many
}

// numbered says whether the number of slots is one, and not just unknown.
func numbered(n int64) bool { return n > 0 && n < cluster.UnlimitedSlots }

// AttachSlots are the slots to attach volumes that the demand asks for.
type AttachSlots []*attach

// gatherSlots finds the slots that the demand asks for, and how many there are.
func gatherSlots(v view.View, j *journal.Journal, classes []*demand.Class) AttachSlots {
	var all AttachSlots
	for _, c := range classes {
		for _, a := range c.Group.Shape.Requests.Extended {
			if cluster.IsAttachSlots(a.Name) && !slices.ContainsFunc(all, func(x *attach) bool { return x.name == a.Name }) {
				all = append(all, &attach{name: a.Name, named: map[string]int64{}})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *attach) int { return strings.Compare(a.name, b.name) })
	for state := range v.Snapshot.States() {
		j.Trace.Objects++
		kind, _ := state.Node.Labels.Get(label.InstanceType)
		for _, a := range all {
			if n := state.Node.Allocatable.Get(a.name); numbered(n) {
				a.most, a.named[kind] = max(a.most, n), max(a.named[kind], n)
			}
		}
	}
	for _, a := range all {
		a.compare(v.Snapshot.Supply().Classes)
	}
	return all
}

// compare compares what the driver has named with what the types say.
func (a *attach) compare(classes []cluster.Class) {
	fewer, asMany := false, false
	for _, c := range classes {
		for i := range c.Types {
			said := c.Types[i].Allocatable.Get(a.name)
			a.bound = a.bound || numbered(said)
			if n, seen := a.named[c.Types[i].Name]; seen && numbered(said) {
				fewer, asMany = fewer || n < said, asMany || n >= said
			}
		}
	}
	a.own = fewer && !asMany
	a.bound = a.bound || a.most > 0
}

// on is how many slots a new node of the type has, nil being one that is not
// known: as many as the driver has named of such a node, else what the type says,
// else the most that the driver has named of any.
func (a *attach) on(t *catalog.InstanceType) int64 {
	said := int64(0)
	if t != nil {
		if n, seen := a.named[t.Name]; seen {
			return n
		}
		said = t.Allocatable.Get(a.name)
	}
	switch {
	case numbered(said) && a.own:
		return min(said, a.most)
	case numbered(said):
		return said
	case a.most > 0:
		return a.most
	}
	return cluster.UnlimitedSlots
}

// Bound lists the slots of which new nodes have only so many.
func (all AttachSlots) Bound() (names []string) {
	for _, a := range all {
		if a.bound {
			names = append(names, a.name)
		}
	}
	return names
}

// OnNew is r, the room of a new node of the type, with the slots that such a node
// has.
func (all AttachSlots) OnNew(r quantity.Resources, t *catalog.InstanceType) quantity.Resources {
	for _, a := range all {
		r = r.Extend(a.name, a.on(t))
	}
	return r
}

// onNode is r, the capacity that a node has reported, where its driver has not
// named its slots yet with those that are expected. The type is that of the node's
// NodeClaim. A node that is not of a NodeClaim has as many as there can be.
func (all AttachSlots) onNode(r quantity.Resources, v view.View, c cluster.Claim) quantity.Resources {
	for _, a := range all {
		switch {
		case numbered(r.Get(a.name)):
		case c.Name == "":
			r = r.Extend(a.name, cluster.UnlimitedSlots)
		default:
			r = r.Extend(a.name, a.on(v.TypeOf(c)))
		}
	}
	return r
}
