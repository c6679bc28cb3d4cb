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

// maxZones is how many zones a mask has room for. No region has as many zones; any
// beyond it would only stay unused.
const maxZones = 64

// Fleet is the rows of all pools that are ready.
type Fleet struct {
	Pools []cluster.Pool // by weight, highest first, then by name, descending: Karpenter breaks ties so
	Zones []string       // bit i of a zone mask is Zones[i]
	Rows  []Row
	// Unpriced names the offerings that the pools allow but that have no price,
	// sorted.
	Unpriced []string
	// NodeCost is the policy's; see Row.Extra.
	NodeCost quantity.Money
	// Static says that the rows are those of static pools. All other fleets have the
	// rows of the pools that launch nodes for pods.
	Static bool
	// Partial says that some pool lacks rows for combinations of values that different
	// pods ask for: there would be too many.
	Partial bool

	supply   *cluster.Supply
	variants Variants
	daemons  []cluster.DaemonSet
	groups   map[string]int
	largest  []quantity.Resources // by pool; see findLargest
	sites    int                  // the number of sites; see Row.Site
	typeKeys map[string]bool      // keys of the labels that instance types have
}

// Row is one kind of node that a pool can launch.
type Row struct {
	Name         string // type/capacity type/pool, and the variant; unique
	Pool         int    // index into Pools
	Group        int    // rows of one group differ in the instance type only, and one launch may carry several
	Type         *catalog.InstanceType
	CapacityType string
	Reservation  string    // of a reserved row
	Left         int64     // instances that the reservation has room for; -1 without a reservation
	Counted      time.Time // see catalog.Offering
	Template     label.Labels
	Zones        uint64           // where it is for sale
	Prices       []quantity.Money // by zone, of a whole node; 0 where it is not for sale
	Price        quantity.Money   // in the cheapest zone
	StandIn      bool             // the price of the instance stands in for one that nobody knows
	Extra        quantity.Money   // the part of each price that is not the instance's: volumes, address, node cost
	Overhead     quantity.Resources
	Net          quantity.Resources // what the most overhead of any zone leaves for pods
	Most         quantity.Resources // what the least overhead of any zone leaves for pods
	PaidAs       []string           // the capacity types in which the pool can have the type, this one included

	labels []label.Layers // by zone
	sites  []int          // by zone; see Site
}

// Reserved says whether nodes of the row are launched into a reservation.
func (r *Row) Reserved() bool { return r.Left >= 0 }

// Offering names the offering of the row in the zone.
func (r *Row) Offering(zone string) catalog.OfferingKey {
	return catalog.OfferingKey{CapacityType: r.CapacityType, InstanceType: r.Type.Name, Zone: zone, Reservation: r.Reservation}
}

// Site returns the number of the row's site in the zone with this bit. If two nodes
// have the same site, their labels differ only in the labels of their instance
// types.
func (r *Row) Site(zone int) int { return r.sites[zone] }

// Sites returns a number above every site.
func (f *Fleet) Sites() int { return f.sites }

// OfTypes says whether instance types decide the label. Such a label may differ
// between nodes of one site.
func (f *Fleet) OfTypes(key string) bool { return f.typeKeys[key] }

// Labels returns the labels of a node of the row in the zone with this bit. The row
// must be for sale there.
func (r *Row) Labels(zone int) *label.Layers {
	return &r.labels[zone]
}

// PriceIn returns the cheapest price in the zones of the mask, and its zone; -1 if
// the row is for sale in none of them.
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

// InstancePriceIn returns the price of the instance alone where PriceIn is that of
// the node.
func (r *Row) InstancePriceIn(zones uint64) quantity.Money {
	price, zone := r.PriceIn(zones)
	if zone < 0 {
		return 0
	}
	return price - r.Extra
}

// ChoiceIn is the row as a launch into the zones has it.
func (r *Row) ChoiceIn(zones uint64) plan.Choice {
	return plan.Choice{Type: r.Type.Name, Price: r.InstancePriceIn(zones), StandIn: r.StandIn}
}

// ZonesWithin returns the zones where the row costs no more than the limit.
func (r *Row) ZonesWithin(limit quantity.Money) (zones uint64) {
	for m := r.Zones; m != 0; m &= m - 1 {
		if z := bits.TrailingZeros64(m); r.Prices[z] <= limit {
			zones |= 1 << z
		}
	}
	return zones
}

// Recompile returns the known Fleet if it serves the supply, the variants and the
// node cost, and compiles a Fleet otherwise. The known Fleet may be nil.
func Recompile(supply *cluster.Supply, variants Variants, nodeCost quantity.Money, known *Fleet) *Fleet {
	if known.Serves(supply, variants, nodeCost) {
		return known
	}
	return Compile(supply, variants, nodeCost)
}

// Compile returns the Fleet that the supply can launch. A pool gets rows for each
// of its variants. The node cost is part of every price.
func Compile(supply *cluster.Supply, variants Variants, nodeCost quantity.Money) *Fleet {
	return compile(&Fleet{NodeCost: nodeCost, supply: supply, variants: variants})
}

// compile adds to the fleet what its supply can launch.
func compile(f *Fleet) *Fleet {
	supply := f.supply
	f.daemons, f.groups, f.typeKeys = supply.DaemonSets, map[string]int{}, map[string]bool{}
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
	f.largest = f.findLargest()
	return f
}

// findLargest returns the most of each resource that a node of each pool has for pods.
func (f *Fleet) findLargest() []quantity.Resources {
	out := make([]quantity.Resources, len(f.Pools))
	for i := range f.Rows {
		r := &f.Rows[i]
		out[r.Pool] = out[r.Pool].Max(r.Net)
	}
	return out
}

// noteKeys notes which labels the instance types have. Most types have the same
// labels.
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

// With returns the fleet with the pool in place of the pool of that name.
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
	out.largest = out.findLargest()
	return &out
}

// openPool adds the rows of the pool, if the pool can launch nodes.
func (f *Fleet) openPool(pool int) {
	p := f.Pools[pool]
	at := slices.IndexFunc(f.supply.Classes, func(c cluster.Class) bool { return c.Name == p.Class })
	if p.Static != f.Static || !p.Ready || p.Deleting || at < 0 || !f.supply.Classes[at].Ready {
		return
	}
	before, each := len(f.Rows), 0
	templates, whole := f.variants.templates(p)
	f.Partial = f.Partial || !whole
	for _, template := range templates {
		if len(f.Rows)-before+each > maxRows {
			f.Partial = true
			break
		}
		f.addPool(pool, template, &f.supply.Classes[at])
		if each == 0 {
			each = len(f.Rows) - before
		}
	}
}

func (f *Fleet) sort() {
	slices.Sort(f.Unpriced)
	f.Unpriced = slices.Compact(f.Unpriced)
	slices.SortFunc(f.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.Name, b.Name))
	})
}

// Serves says whether the fleet was compiled for the supply, the variants and the
// node cost.
func (f *Fleet) Serves(supply *cluster.Supply, variants Variants, nodeCost quantity.Money) bool {
	return f != nil && !f.Static && f.supply == supply && f.NodeCost == nodeCost && f.variants.equal(&variants, supply)
}

func (f *Fleet) addPool(pool int, template label.Labels, class *cluster.Class) {
	p := f.Pools[pool]
	variant := ""
	for _, key := range f.variants.keys {
		if v, ok := template.Get(key); ok {
			variant += "," + key + "=" + v
		}
	}
	decided := make([]bool, len(p.Requirements))
	for i, r := range p.Requirements {
		decided[i] = slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
	}
	ready := template.Merge(label.OfReady()) // what pods see
	sites := map[string]int{}                // by the labels of the offering; the template is the same for all
	for i := range class.Types {
		t := &class.Types[i]
		if !typeMeets(p.Requirements, decided, &label.Layers{p.Labels, t.Labels}, &label.Layers{ready, t.Labels}) {
			continue
		}
		first := len(f.Rows)
		for _, way := range ways(t) {
			r := Row{
				Name: t.Name + "/" + way.capacityType + way.reservation + "/" + p.Name + variant,
				Pool: pool, Type: t, CapacityType: way.capacityType, Reservation: way.reservation, Left: -1,
				Extra:    class.Volumes.Add(class.Address).Add(f.NodeCost),
				Template: template, Prices: make([]quantity.Money, len(f.Zones)), labels: make([]label.Layers, len(f.Zones)), sites: make([]int, len(f.Zones)),
			}
			f.addOfferings(&r, p, ready, sites)
			if r.Zones == 0 {
				continue
			}
			r.Price, _ = r.PriceIn(r.Zones)
			var certain quantity.Resources
			r.Overhead, certain = f.overhead(&r, p)
			r.Net, r.Most = t.Allocatable.Sub(r.Overhead), t.Allocatable.Sub(certain)
			key := p.Name + variant + "/" + way.capacityType + way.reservation
			if _, known := f.groups[key]; !known {
				f.groups[key] = len(f.groups)
			}
			r.Group = f.groups[key]
			f.Rows = append(f.Rows, r)
		}
		tellPaid(f.Rows[first:])
	}
}

// tellPaid notes on the rows of one type in which capacity types the pool can have it.
func tellPaid(rows []Row) {
	var paid []string
	for i := range rows {
		if !slices.Contains(paid, rows[i].CapacityType) {
			paid = append(paid, rows[i].CapacityType)
		}
	}
	for i := range rows {
		rows[i].PaidAs = paid
	}
}

type way struct{ capacityType, reservation string }

// ways returns the ways in which a type can be bought.
func ways(t *catalog.InstanceType) []way {
	var out []way
	for _, o := range t.Offerings {
		if w := (way{o.CapacityType, o.Reservation}); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// addOfferings fills in where the row is for sale. It leaves out an offering
// without a price, so that an unknown price never wins. A reservation is paid for
// already and needs no price.
func (f *Fleet) addOfferings(r *Row, p cluster.Pool, ready label.Labels, sites map[string]int) {
	for _, o := range r.Type.Offerings {
		z, known := slices.BinarySearch(f.Zones, o.Zone)
		if !known || o.CapacityType != r.CapacityType || o.Reservation != r.Reservation {
			continue
		}
		zone := o.Labels()
		if _, no := p.Requirements.Unmet(&label.Layers{ready, r.Type.Labels, zone}); no {
			continue
		}
		if o.Price <= 0 && o.Reservation == "" {
			f.Unpriced = append(f.Unpriced, plan.OfferingName(r.Type.Name, o.CapacityType, o.Zone))
			continue
		}
		if o.Reservation != "" && dedicated(ready) {
			continue // reservations of the catalogue are of shared hardware
		}
		if o.Price < 0 || o.Reservation != "" && o.Left <= 0 || !o.Available {
			continue
		}
		r.Zones |= 1 << z
		r.StandIn = r.StandIn || o.StandIn
		r.Prices[z], r.labels[z] = o.Price.Add(r.Extra), label.Layers{ready, r.Type.Labels, zone}
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

// dedicated says whether nodes with the labels have hardware of their own.
func dedicated(labels label.Labels) bool {
	tenancy, _ := labels.Get(label.Tenancy)
	return tenancy == label.Dedicated
}

// typeMeets says whether the type meets the requirements, except those on labels
// that only the offering decides. If instance types decide a label, only the type's
// own labels and the pool's count for it, and not a value that Template chose.
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

// overhead returns what the DaemonSets take of a node of the row: the most and the
// least of all its zones.
func (f *Fleet) overhead(r *Row, p cluster.Pool) (most, certain quantity.Resources) {
	for m := r.Zones; m != 0; m &= m - 1 {
		labels := r.Labels(bits.TrailingZeros64(m))
		most = most.Max(fit.Overhead(f.daemons, labels, p.Taints))
		x := fit.Overhead(fit.Certain(f.daemons), labels, p.Taints)
		if m == r.Zones {
			certain = x
		}
		certain = certain.Min(x)
	}
	return most, certain
}
