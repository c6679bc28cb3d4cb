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

// attach is what is known of one CSI driver's slots to attach volumes, beyond what
// the instance types say.
type attach struct {
	name  string           // the name of the resource
	most  int64            // the most that the driver reported on any node; 0 if it reported none
	named map[string]int64 // by instance type: the most that the driver reported on a node of the type
	// own says that the driver uses a number of its own: on every node it reported
	// fewer slots than the instance type says.
	own   bool
	bound bool // new nodes have a known number of slots, at least some of them
}

// numbered says whether n is a known number of slots, and not the mark for an
// unknown one.
func numbered(n int64) bool { return n > 0 && n < cluster.UnlimitedSlots }

// AttachSlots are the kinds of slots to attach volumes that the demand asks for.
type AttachSlots []*attach

// gatherSlots returns the kinds of slots that the demand asks for, and how many
// there are.
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

// compare compares what the driver reported with what the instance types say.
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

// on returns how many slots a new node of the type has; t is nil if the type is not
// known. The number is the first that is known: what the driver reported on such a
// node, what the type says, the most that the driver reported on any node.
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

// Bound returns the names of the slots of which new nodes have a known number.
func (all AttachSlots) Bound() (names []string) {
	for _, a := range all {
		if a.bound {
			names = append(names, a.name)
		}
	}
	return names
}

// OnNew returns r, the room of a new node of the type, with the slots of such a
// node.
func (all AttachSlots) OnNew(r quantity.Resources, t *catalog.InstanceType) quantity.Resources {
	for _, a := range all {
		r = r.Extend(a.name, a.on(t))
	}
	return r
}

// onNode returns r, the reported capacity of a node, with the slots that its
// drivers have not reported yet. These are the slots of the instance type of
// NodeClaim c. A node without a NodeClaim gets unlimited slots.
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
