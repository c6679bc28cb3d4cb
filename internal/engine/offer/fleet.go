package offer

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// maxZones is how many zones a mask has room for. No region has as many; zones
// beyond it would only be left unused.
const maxZones = 64

// maxVariants bounds the variants of one pool.
const maxVariants = 256

// Fleet is the rows of all pools that are ready.
type Fleet struct {
	Pools []cluster.Pool // by weight, highest first, then name descending, as Karpenter breaks the tie
	Zones []string       // bit i of a zone mask is Zones[i]
	Rows  []Row
	// Unpriced names the offerings that the pools allow and that have no price,
	// sorted.
	Unpriced []string

	supply   *cluster.Supply
	variants []string
	daemons  []cluster.DaemonSet
	groups   map[string]int
	sites    int
	typeKeys map[string]bool // of the labels that types have
	limited  bool            // some rows are of a pool with limits, or of a reservation
}

// Row is one kind of node that a pool can launch.
type Row struct {
	Name         string // type/capacity type/pool, and the variant; unique
	Pool         int    // index into Pools
	Group        int    // rows of one group differ in the type only: a launch may carry several
	Type         *catalog.InstanceType
	CapacityType string
	Reservation  string    // of a reserved row
	Left         int64     // instances that the reservation has room for; -1 where there is none
	Counted      time.Time // see catalog.Offering
	Template     label.Labels
	Zones        uint64           // where it is for sale
	Prices       []quantity.Money // by zone; 0 where it is not for sale
	Price        quantity.Money   // in the cheapest zone
	Overhead     quantity.Resources
	Net          quantity.Resources // what is left for pods
	Most         quantity.Resources // the same, in the zone where it is the most

	labels []label.Layers // by zone
	sites  []int          // by zone; see Site
}

// Site numbers what a node of the row in the zone with this bit is like, its type
// aside: where two have one number, their labels differ by their types' only.
func (r *Row) Site(zone int) int { return r.sites[zone] }

// Sites is above the number of every site.
func (f *Fleet) Sites() int { return f.sites }

// OfTypes says whether types decide the label, so that sites do not.
func (f *Fleet) OfTypes(key string) bool { return f.typeKeys[key] }

// Labels are those of a node of the row in the zone with this bit, where it is for
// sale.
func (r *Row) Labels(zone int) *label.Layers {
	return &r.labels[zone]
}

// PriceIn returns the cheapest price in the zones of the mask, and its zone.
func (r *Row) PriceIn(zones uint64) (best quantity.Money, zone int) {
	zone = -1
	for m := zones & r.Zones; m != 0; m &= m - 1 {
		z := bits.TrailingZeros64(m)
		if zone < 0 || r.Prices[z] < best {
			best, zone = r.Prices[z], z
		}
	}
	return best, zone
}

// Recompile returns the known Fleet where it is that of the supply and the
// variants; else it compiles one. The known one may be nil.
func Recompile(supply *cluster.Supply, variants []string, known *Fleet) *Fleet {
	if known.Serves(supply, variants) {
		return known
	}
	return Compile(supply, variants)
}

// Compile lists what the supply can launch. variants names label keys by which
// pods are told apart; a pool whose requirements leave several values open for
// one of them, and no instance type fixes it, gets rows for each value.
func Compile(supply *cluster.Supply, variants []string) *Fleet {
	f := &Fleet{supply: supply, variants: variants, daemons: supply.DaemonSets, groups: map[string]int{}, typeKeys: map[string]bool{}}
	f.Pools = slices.SortedFunc(slices.Values(supply.Pools), func(a, b cluster.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	for i := range supply.Classes {
		c := &supply.Classes[i]
		for _, t := range c.Types {
			for _, o := range t.Offerings {
				f.Zones = append(f.Zones, o.Zone)
			}
		}
		slices.Sort(f.Zones)
		f.Zones = slices.Compact(f.Zones)
		f.noteKeys(c.Types)
	}
	f.Zones = f.Zones[:min(len(f.Zones), maxZones)]
	for i := range f.Pools {
		f.openPool(i)
	}
	f.sort()
	return f
}

// noteKeys notes which labels the types have; most have the same ones.
func (f *Fleet) noteKeys(types []catalog.InstanceType) {
	var before label.Labels
	for i := range types {
		l := types[i].Labels
		if !slices.EqualFunc(l, before, func(a, b label.Label) bool { return a.Key == b.Key }) {
			for _, x := range l {
				f.typeKeys[x.Key] = true
			}
		}
		before = l
	}
}

// With returns the fleet with the pool in place of the one of its name.
func (f *Fleet) With(p cluster.Pool) *Fleet {
	out := *f
	out.supply, out.groups = &cluster.Supply{Classes: f.supply.Classes}, maps.Clone(f.groups)
	out.Pools, out.Unpriced = slices.Clone(f.Pools), slices.Clone(f.Unpriced)
	at := slices.IndexFunc(f.Pools, func(x cluster.Pool) bool { return x.Name == p.Name })
	if at < 0 {
		return &out
	}
	out.Pools[at] = p
	out.Rows = make([]Row, 0, 2*len(f.Rows))
	for i := range f.Rows {
		if f.Rows[i].Pool != at {
			out.Rows = append(out.Rows, f.Rows[i])
		}
	}
	out.openPool(at)
	out.sort()
	return &out
}

// openPool adds the rows of the pool, if it can launch anything.
func (f *Fleet) openPool(pool int) {
	p := f.Pools[pool]
	at := slices.IndexFunc(f.supply.Classes, func(c cluster.Class) bool { return c.Name == p.Class })
	if !p.Ready || p.Deleting || at < 0 || !f.supply.Classes[at].Ready {
		return
	}
	for _, template := range f.templates(p) {
		f.addPool(pool, template, &f.supply.Classes[at])
	}
}

func (f *Fleet) sort() {
	slices.Sort(f.Unpriced)
	f.Unpriced = slices.Compact(f.Unpriced)
	f.limited = slices.ContainsFunc(f.Rows, func(r Row) bool { return r.Left >= 0 || len(f.Pools[r.Pool].Limits) > 0 })
	slices.SortFunc(f.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.Name, b.Name))
	})
}

// Serves says whether the fleet is that of the supply and the variants.
func (f *Fleet) Serves(supply *cluster.Supply, variants []string) bool {
	return f != nil && f.supply == supply && slices.Equal(f.variants, variants)
}

// Template returns the labels that every node of the pool gets, whatever its
// type: the template's own, and a value for each other label that the
// requirements ask for and instance types do not decide. Where several are
// possible it is the first (Karpenter takes any).
func Template(p cluster.Pool) label.Labels {
	l := p.Labels.With(label.NodePool, p.Name).With(label.NodeClass, p.Class)
	for _, r := range p.Requirements {
		if _, there := l.Get(r.Key()); there || r.AdmitsAbsence() || label.OfInstance(r.Key()) {
			continue
		}
		if v, ok := r.Some(); ok {
			l = l.With(r.Key(), v)
		}
	}
	return l
}

// templates returns the pool's labels, once for each combination of values that
// its requirements leave open for the variant keys.
func (f *Fleet) templates(p cluster.Pool) []label.Labels {
	out := []label.Labels{Template(p)}
	for _, key := range f.variants {
		r, there := p.Requirements.Get(key)
		values, listed := r.Values()
		if _, fixed := p.Labels.Get(key); fixed || !there || !listed || len(values) < 2 || len(out)*len(values) > maxVariants {
			continue
		}
		var next []label.Labels
		for _, l := range out {
			for _, v := range values {
				next = append(next, l.With(key, v))
			}
		}
		out = next
	}
	return out
}

func (f *Fleet) addPool(pool int, template label.Labels, class *cluster.Class) {
	p := f.Pools[pool]
	variant := ""
	for _, key := range f.variants {
		if v, ok := template.Get(key); ok {
			variant += "," + key + "=" + v
		}
	}
	decided := make([]bool, len(p.Requirements))
	for i, r := range p.Requirements {
		decided[i] = slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
	}
	sites := map[string]int{} // by the labels of offerings, the template's aside
	for i := range class.Types {
		t := &class.Types[i]
		if !typeMeets(p.Requirements, decided, &label.Layers{p.Labels, t.Labels}, &label.Layers{template, t.Labels}) {
			continue
		}
		for _, way := range ways(t) {
			r := Row{
				Name: t.Name + "/" + way.capacityType + way.reservation + "/" + p.Name + variant,
				Pool: pool, Type: t, CapacityType: way.capacityType, Reservation: way.reservation, Left: -1,
				Template: template, Prices: make([]quantity.Money, len(f.Zones)), labels: make([]label.Layers, len(f.Zones)), sites: make([]int, len(f.Zones)),
			}
			f.addOfferings(&r, p, sites)
			if r.Zones == 0 {
				continue
			}
			r.Price, _ = r.PriceIn(r.Zones)
			var least quantity.Resources
			r.Overhead, least = f.overhead(&r, p)
			r.Net, r.Most = t.Allocatable.Sub(r.Overhead), t.Allocatable.Sub(least)
			key := p.Name + variant + "/" + way.capacityType + way.reservation
			if _, known := f.groups[key]; !known {
				f.groups[key] = len(f.groups)
			}
			r.Group = f.groups[key]
			f.Rows = append(f.Rows, r)
		}
	}
}

type way struct{ capacityType, reservation string }

// ways lists how a type can be bought.
func ways(t *catalog.InstanceType) []way {
	var out []way
	for _, o := range t.Offerings {
		if w := (way{o.CapacityType, o.Reservation}); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// addOfferings fills in where the row is for sale. An unknown price never wins:
// such an offering is left out. A reservation is paid for already.
func (f *Fleet) addOfferings(r *Row, p cluster.Pool, sites map[string]int) {
	for _, o := range r.Type.Offerings {
		z, known := slices.BinarySearch(f.Zones, o.Zone)
		if !known || o.CapacityType != r.CapacityType || o.Reservation != r.Reservation {
			continue
		}
		zone := o.Labels()
		if _, no := p.Requirements.Unmet(&label.Layers{r.Template, r.Type.Labels, zone}); no {
			continue
		}
		if o.Price <= 0 && o.Reservation == "" {
			f.Unpriced = append(f.Unpriced, plan.OfferingName(r.Type.Name, o.CapacityType, o.Zone))
			continue
		}
		if o.Price < 0 || o.Reservation != "" && o.Left <= 0 || !o.Available {
			continue
		}
		r.Zones |= 1 << z
		r.Prices[z], r.labels[z] = o.Price, label.Layers{r.Template, r.Type.Labels, zone}
		here := string(zone.AppendKey(nil))
		if _, known := sites[here]; !known {
			sites[here] = f.sites
			f.sites++
		}
		r.sites[z] = sites[here]
		if o.Reservation != "" {
			r.Left, r.Counted = o.Left, o.Counted
		}
	}
}

// typeMeets leaves aside what a type alone does not fix. A label that instance
// types have is theirs to decide: one that lacks it does not get it from the
// template.
func typeMeets(rs label.Requirements, decided []bool, own, all label.Lookup) bool {
	for i, r := range rs {
		if label.OfOffering(r.Key()) {
			continue
		}
		if decided[i] && !r.MetBy(own) || !r.MetBy(all) {
			return false
		}
	}
	return true
}

// overhead is what the DaemonSets take of a node of the row: the most and the
// least that they take in any of its zones.
func (f *Fleet) overhead(r *Row, p cluster.Pool) (most, least quantity.Resources) {
	for m := r.Zones; m != 0; m &= m - 1 {
		labels := r.Labels(bits.TrailingZeros64(m))
		most = most.Max(fit.Overhead(f.daemons, labels, p.Taints))
		x := fit.Overhead(fit.Certain(f.daemons), labels, p.Taints)
		if m == r.Zones {
			least = x
		}
		least = least.Min(x)
	}
	return most, least
}
