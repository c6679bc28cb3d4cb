package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// order is what decides what a NodeClaim that is not launched yet may become. The
// snapshot keeps equal lists in the same memory: see cluster.Lot.
type order struct {
	class, reservation string
	requirements       *label.Requirement
	labels             *label.Label
	taints             *cluster.Taint
}

func orderOf(c *cluster.Claim) order {
	return order{c.Class, c.Reservation, first(c.Requirements), first(c.Labels), first(c.Taints)}
}

func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// options is what NodeClaims of one order may become. It never changes.
type options struct {
	labels []label.Lookup
	kinds  []kind
	free   quantity.Resources // on the one that has the least left, slots to attach volumes aside
	most   quantity.Resources // on the one that has the most
}

// kind is a type with what DaemonSets take of it.
type kind struct {
	of            *catalog.InstanceType
	most, certain quantity.Resources
}

// Known is what follows from the snapshot and is kept from Step to Step.
type Known struct {
	options memory.Cache[*cluster.Supply, order, *options]
	reached memory.Cache[cluster.Kinds, string, bool] // by demand.PlaceKey
}

// Next returns what the Step has used, for the next one.
func (k *Known) Next() Known { return Known{options: k.options.Next(), reached: k.reached.Next()} }

// optionsOf works out what the NodeClaim may become.
func optionsOf(c *cluster.Claim, supply *cluster.Supply) *options {
	out := &options{}
	at := slices.IndexFunc(supply.Classes, func(x cluster.Class) bool { return x.Name == c.Class })
	if at < 0 {
		return out
	}
	class := &supply.Classes[at]
	certain := fit.Certain(supply.DaemonSets)
	decided := decided(c, class)
	own := c.Labels.Merge(label.OfReady())
	for i := range class.Types {
		t := &class.Types[i]
		if !c.Requirements.Admits(label.InstanceType, t.Name) {
			continue
		}
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if !c.Requirements.Admits(label.Zone, o.Zone) || !c.Requirements.Admits(label.CapacityType, o.CapacityType) ||
				c.Reservation != "" && o.Reservation != c.Reservation {
				continue
			}
			labels := &label.Layers{own, t.Labels, o.Labels()}
			if _, no := decided.Unmet(labels); no {
				continue
			}
			out.labels = append(out.labels, labels)
			k := kind{of: t, most: fit.Overhead(supply.DaemonSets, labels, c.Taints)}
			if k.certain = k.most; len(certain) < len(supply.DaemonSets) {
				k.certain = fit.Overhead(certain, labels, c.Taints)
			}
			if n := len(out.kinds); n == 0 || !out.kinds[n-1].equals(&k) {
				out.kinds = append(out.kinds, k)
			}
		}
	}
	out.free, out.most = out.room(nil)
	return out
}

func (k *kind) equals(o *kind) bool {
	return k.of == o.of && k.most.Compare(o.most) == 0 && k.certain.Compare(o.certain) == 0
}

// room is what is left for pods on the kind that has the least, and on the one that
// has the most.
func (x *options) room(slots AttachSlots) (free, most quantity.Resources) {
	for i := range x.kinds {
		k := &x.kinds[i]
		left := slots.OnNew(k.of.Allocatable, k.of)
		most = most.Max(left.Sub(k.certain))
		if i == 0 {
			free = left.Sub(k.most)
		} else {
			free = free.Min(left.Sub(k.most))
		}
	}
	return free, most
}

// decided lists the requirements of the NodeClaim that its labels, instance types
// and offerings decide. What it may become meets them.
func decided(c *cluster.Claim, class *cluster.Class) label.Requirements {
	return pick.Those(c.Requirements, func(r label.Requirement) bool {
		_, own := c.Labels.Get(r.Key())
		return own || label.OfOffering(r.Key()) ||
			slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
	})
}

// open is options in one try of a Step, with what has been asked about them.
type open struct {
	*options
	free, most quantity.Resources
	possible   *topology.Possible
	accepted   map[*demand.Level]bool
	ports      []cluster.HostPort // of DaemonSets, if they matter
}

// optionsOf returns what the NodeClaim may become. NodeClaims that are alike share it.
func (r *Room) optionsOf(c *cluster.Claim) *open {
	k, supply := orderOf(c), r.Snapshot.Supply()
	if x, known := r.ordered[k]; known {
		return x
	}
	of := r.known.options.Get(supply, k, func() *options { return optionsOf(c, supply) })
	x := &open{options: of, free: of.free, most: of.most, possible: topology.NewPossible(slices.Values(of.labels)), accepted: map[*demand.Level]bool{}}
	if len(r.Slots) > 0 {
		x.free, x.most = of.room(r.Slots)
	}
	if r.demand.PortsMatter {
		x.ports = slices.Clip(r.daemonPorts(x.labels, c.Taints))
	}
	r.ordered[k] = x
	return x
}

// accepts says whether whatever it becomes lets the level's pods in.
func (x *open) accepts(l *demand.Level, taints []cluster.Taint) bool {
	yes, known := x.accepted[l]
	if !known {
		yes = !slices.ContainsFunc(x.labels, func(labels label.Lookup) bool { return !fit.Node(l.Shape, labels, taints) })
		x.accepted[l] = yes
	}
	return yes
}

// Reaches says whether the level's pods may run on any node that is there, as far as
// labels and taints decide that.
func (r *Room) Reaches(l *demand.Level) bool {
	nodes := r.Snapshot.NodeKinds()
	return r.known.reached.Get(nodes, demand.PlaceKey(&l.Shape, false), func() bool {
		return fit.AsksForNames(&l.Shape) || fit.VolumesAskForNames(&l.Shape) || nodes.Any(func(labels label.Lookup, taints []cluster.Taint) bool { return fit.Node(l.Shape, labels, taints) })
	})
}
