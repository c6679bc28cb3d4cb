package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// offer is one kind of node that a pool can launch: an instance type and a
// capacity type, in the zones where they can be had.
type offer struct {
	pool         cluster.Pool
	typ          catalog.InstanceType
	capacityType string
	price        quantity.Money // in the cheapest zone
	net          quantity.Resources
	zones        []zoneOffer // sorted by zone
}

type zoneOffer struct {
	zone   string
	labels *label.Layers
}

// offers lists what the pools can launch now. Offerings without capacity are
// counted, not listed.
func (s *step) offers(pools []cluster.Pool) (list []offer, unavailable int, back time.Time) {
	for _, p := range pools {
		class, ok := s.in.Snapshot.Class(p.Class)
		if !p.Ready || p.Deleting || !ok || !class.Ready {
			continue
		}
		template := templateLabels(p)
		for _, t := range class.Types {
			if !typeMeets(p.Requirements, &label.Layers{template, t.Labels}) {
				continue
			}
			for _, ct := range []string{label.OnDemand, label.Spot} {
				o, out, until := s.offerOf(p, template, t, ct)
				unavailable += out
				back = earliest(back, until)
				if len(o.zones) > 0 {
					list = append(list, o)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(a.id(), b.id()))
	})
	s.trace.Types += len(list)
	return list, unavailable, back
}

func (o offer) id() string { return o.typ.Name + "/" + o.capacityType + "/" + o.pool.Name }

func (s *step) offerOf(p cluster.Pool, template label.Labels, t catalog.InstanceType, ct string) (o offer, unavailable int, back time.Time) {
	o = offer{pool: p, typ: t, capacityType: ct}
	for _, x := range t.Offerings {
		if x.CapacityType != ct || !x.Available || x.Price <= 0 {
			continue
		}
		labels := &label.Layers{template, t.Labels, offeringLabels(x)}
		if _, no := p.Requirements.Unmet(labels); no {
			continue
		}
		if until, out := s.memory.unavailable(OfferingKey{CapacityType: ct, InstanceType: t.Name, Zone: x.Zone}, s.in.Now); out {
			unavailable++
			back = earliest(back, until)
			continue
		}
		if len(o.zones) == 0 || x.Price < o.price {
			o.price = x.Price
		}
		o.zones = append(o.zones, zoneOffer{zone: x.Zone, labels: labels})
	}
	if len(o.zones) > 0 {
		o.net = t.Allocatable.Sub(fit.Overhead(s.in.Snapshot.DaemonSets(), o.zones[0].labels, p.Taints))
	}
	return o, unavailable, back
}

// templateLabels are the labels that every node of the pool gets, whatever its
// type: the template's own, and those that the requirements fix to one value.
func templateLabels(p cluster.Pool) label.Labels {
	l := p.Labels.With(label.NodePool, p.Name).With(label.NodeClass, p.Class)
	for _, r := range p.Requirements {
		if values, ok := r.Values(); ok && len(values) == 1 {
			if _, there := l.Get(r.Key()); !there {
				l = l.With(r.Key(), values[0])
			}
		}
	}
	return l
}

// typeMeets leaves aside what a type alone does not fix.
func typeMeets(rs label.Requirements, labels label.Lookup) bool {
	for _, r := range rs {
		switch r.Key() {
		case label.Zone, label.ZoneID, label.CapacityType:
		default:
			if !r.MetBy(labels) {
				return false
			}
		}
	}
	return true
}

// zoneBits numbers the zones of all offers; more than 64 zones do not occur in
// one region, and the surplus would only be left unused.
func zoneBits(list []offer) map[string]int {
	var zones []string
	for _, o := range list {
		for _, z := range o.zones {
			zones = append(zones, z.zone)
		}
	}
	slices.Sort(zones)
	bits := map[string]int{}
	for i, z := range slices.Compact(zones) {
		if i < 64 {
			bits[z] = i
		}
	}
	return bits
}

// zonesFor returns the zones of the offer in which the shape may run, as bits.
func (o offer) zonesFor(shape cluster.Shape, bits map[string]int) uint64 {
	if _, kept := cluster.Untolerated(o.pool.Taints, shape.Tolerations); kept || len(shape.Unsupported) > 0 {
		return 0
	}
	var set uint64
	for _, z := range o.zones {
		bit, known := bits[z.zone]
		if _, ok := fit.Labels(shape, z.labels); ok && known {
			set |= 1 << bit
		}
	}
	return set
}
