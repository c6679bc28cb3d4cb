package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// WithStandIns returns the market in which every instance type that it sells on demand has
// a price: the one that is known, or one that stands in for it. Nobody can be asked for a
// price in a region without a Price List, and a type that is not sold at all for want of a
// number costs more than one whose number is a little off.
//
// What stands in is the first of these that there is:
//
//   - The price of the type in another region, the nearest kind first (Elsewhere), times
//     what types cost here by what they cost there: the median of the family, else of the
//     category, else of all. So the currency is that of the market, too.
//   - The price of the type of the family that is nearest in size, by size.
//   - The median price of a device, of types with the same GPU or accelerator, else with any;
//     of a type without, that of its size, of types of its category, else of all.
//
// The arguments are not changed.
func (m Market) WithStandIns(facts []Fact) Market {
	var lacking []Fact
	for _, f := range facts {
		if len(m.Offered[f.Name]) > 0 && m.OnDemand[f.Name] <= 0 && slices.Contains(f.UsageClasses, label.OnDemand) {
			lacking = append(lacking, f)
		}
	}
	m.StandIn = nil
	if len(lacking) == 0 {
		return m
	}
	m.StandIn = map[string]quantity.Money{}
	prices := map[string]quantity.Money{}
	maps.Copy(prices, m.OnDemand)
	for _, elsewhere := range m.Elsewhere {
		level := levelOf(facts, prices, elsewhere)
		m.standIn(prices, lacking, func(f Fact) int64 { return quantity.MulDiv(int64(elsewhere[f.Name]), level.of(f), whole) })
	}
	for _, like := range []func(f Fact, known []priced) int64{bySize, byPeers} {
		known := pricedOf(facts, prices)
		m.standIn(prices, lacking, func(f Fact) int64 { return like(f, known) })
	}
	return m
}

// standIn adds what the rule gives for types that still lack a price, to the stand-ins and,
// for the next rule, to the prices.
func (m Market) standIn(prices map[string]quantity.Money, lacking []Fact, rule func(Fact) int64) {
	const unit = quantity.NanoDollars / 1_000_000 // more digits would mean nothing
	for _, f := range lacking {
		if prices[f.Name] > 0 {
			continue
		}
		if price := quantity.Money((rule(f) + unit/2) / unit * unit); price > 0 {
			m.StandIn[f.Name] = price
		}
	}
	maps.Copy(prices, m.StandIn)
}

// priced is a type with a price.
type priced struct {
	Fact

	price int64 // nano-dollars an hour
}

// pricedOf lists the types that have a price, sorted by name.
func pricedOf(facts []Fact, prices map[string]quantity.Money) []priced {
	var out []priced
	for _, f := range facts {
		if p := prices[f.Name]; p > 0 {
			out = append(out, priced{f, int64(p)})
		}
	}
	slices.SortFunc(out, func(a, b priced) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// whole is the level of a region that costs as much as another one.
const whole = 1_000_000

// level is what types cost in one region by what they cost in another, in millionths, by
// group of types.
type level map[string][]int64

func levelOf(facts []Fact, here, there map[string]quantity.Money) level {
	out := level{}
	for _, f := range facts {
		if h, t := here[f.Name], there[f.Name]; h > 0 && t > 0 {
			for _, group := range f.groups() {
				out[group] = append(out[group], quantity.MulDiv(int64(h), whole, int64(t)))
			}
		}
	}
	for _, ratios := range out {
		slices.Sort(ratios)
	}
	return out
}

// of returns the level for the type; the whole where nothing is known of any type.
func (l level) of(f Fact) int64 {
	for _, group := range f.groups() {
		if ratios := l[group]; len(ratios) > 0 {
			return ratios[len(ratios)/2]
		}
	}
	return whole
}

// groups are the groups of types that the type is in, the narrowest first.
func (f Fact) groups() []string {
	return []string{"family/" + f.Family, "category/" + f.Category, ""}
}

// mibPerVCPU is how many MiB of memory cost about as much as a vCPU in EC2's price lists.
const mibPerVCPU = 8 << 10

// size says how large the type is, in what the price of a type without devices goes by.
func (f Fact) size() int64 { return int64(f.VCPU)*mibPerVCPU + f.MemoryMiB }

// devices is how many GPUs or accelerators the type has; where it has only a part of one, 1.
func (f Fact) devices() int64 {
	if f.GPUName == "" && f.AcceleratorName == "" {
		return 0
	}
	return int64(max(1, f.GPUCount, f.AcceleratorCount))
}

// bySize is the price of the type of the family that is nearest in size, by size; 0 where
// there is none.
func bySize(f Fact, known []priced) (price int64) {
	var nearest int64 // how many times as large the larger one is, in millionths
	for _, k := range known {
		if k.Family != f.Family || k.size() <= 0 || f.size() <= 0 {
			continue
		}
		times := quantity.MulDiv(max(f.size(), k.size()), whole, min(f.size(), k.size()))
		if nearest == 0 || times < nearest {
			price, nearest = quantity.MulDiv(k.price, f.size(), k.size()), times
		}
	}
	return price
}

// byPeers is the median price of a device or of a unit of size, times how much of it the
// type has; 0 where there is no type to compare it with.
func byPeers(f Fact, known []priced) int64 {
	like := []func(k priced) bool{
		func(k priced) bool { return k.Category == f.Category && k.devices() == 0 },
		func(k priced) bool { return k.devices() == 0 },
	}
	amount := Fact.size
	if f.devices() > 0 {
		like = []func(k priced) bool{
			func(k priced) bool { return k.GPUName == f.GPUName && k.AcceleratorName == f.AcceleratorName },
			func(k priced) bool { return k.devices() > 0 },
		}
		amount = Fact.devices
	}
	const parts = 1000 // of a nano-dollar, as a MiB costs few of them
	for _, is := range like {
		var each []int64
		for _, k := range known {
			if is(k) && amount(k.Fact) > 0 {
				each = append(each, quantity.MulDiv(k.price, parts, amount(k.Fact)))
			}
		}
		if len(each) > 0 {
			slices.Sort(each)
			return quantity.MulDiv(each[len(each)/2], amount(f), parts)
		}
	}
	return 0
}

// priceIn returns what the type costs in the zone with the index, and whether that stands
// in for a price that nobody knows. The price is 0 where the type is not sold so.
func (m Market) priceIn(name, capacityType string, zone int) (price quantity.Money, standsIn bool) {
	onDemand, standsIn := m.OnDemand[name], false
	if onDemand <= 0 {
		onDemand = m.StandIn[name]
		standsIn = onDemand > 0
	}
	if capacityType != label.Spot {
		return onDemand, standsIn
	}
	if spot := m.spotPrice(name, zone); spot > 0 || !m.SpotUnknown {
		return spot, false
	}
	return onDemand, onDemand > 0 // EC2 charges no more for spot, unless the request allows it
}
