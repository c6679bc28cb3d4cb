package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ratios are numbers per instance type that stand in for those of types that
// have none: the median of the family, else of the category, else of all.
type ratios struct {
	own  map[string]float64
	many map[string][]float64 // by "family/x", "category/x" and ""
}

func newRatios() ratios { return ratios{map[string]float64{}, map[string][]float64{}} }

func (r ratios) add(name string, ratio float64) {
	r.own[name] = ratio
	for _, group := range groupsOf(name) {
		r.many[group] = append(r.many[group], ratio)
	}
}

// of returns the ratio of a type; false if there is not one of any type.
func (r ratios) of(name string) (float64, bool) {
	if own, known := r.own[name]; known {
		return own, true
	}
	for _, group := range groupsOf(name) {
		if all := r.many[group]; len(all) > 0 {
			slices.Sort(all)
			return all[len(all)/2], true
		}
	}
	return 0, false
}

func groupsOf(name string) []string {
	p := catalog.ParseName(name)
	return []string{"family/" + p.Family, "category/" + p.Category, ""}
}

// addOnDemand prices the market's types. Prices of the home region are the
// newest; those of another are the reference's while the home region still
// has the reference's price too, and estimates otherwise.
func (t tables) addOnDemand(m *catalog.Market) {
	if m.Region == homeRegion {
		for name := range m.Offered {
			if price, known := t.home[name]; known {
				m.OnDemand[name] = money(price, 6)
			}
		}
		m.Sources = append(m.Sources, t.karpenter.source("on-demand", t.homeDate, "on-demand table of us-east-1"))
		return
	}
	here, home := t.reference[m.Region], t.reference[homeRegion]
	toHome := newRatios()
	for name, p := range here {
		if there, known := home[name]; known {
			toHome.add(name, p.onDemand/there.onDemand)
		}
	}
	for name := range m.Offered {
		now, hasNow := t.home[name]
		then, hasThen := here[name]
		if hasThen && (!hasNow || math.Abs(now-home[name].onDemand) < 1e-6) {
			m.OnDemand[name] = money(then.onDemand, 6)
		} else if ratio, known := toHome.of(name); hasNow && known {
			m.OnDemand[name] = money(now*ratio, 4)
			m.OnDemandIsEstimate[name] = true
		}
	}
	m.Sources = append(m.Sources, catalog.Source{Group: "on-demand", Date: referenceDate, Text: referenceText + fmt.Sprintf(derivedNote, t.homeDate)})
}

// addSpot estimates spot prices. Which of a family's zones is the cheapest is
// arbitrary but fixed.
func (t tables) addSpot(m *catalog.Market) {
	low, high := newRatios(), newRatios()
	for name, p := range t.reference[m.Region] {
		if p.spotMin > 0 && p.spotMax >= p.spotMin && p.spotMax <= p.onDemand {
			low.add(name, p.spotMin/p.onDemand)
			high.add(name, p.spotMax/p.onDemand)
		}
	}
	for name, zones := range m.Offered {
		onDemand, priced := m.OnDemand[name]
		lowest, known := low.of(name)
		if !priced || !known {
			continue
		}
		highest, _ := high.of(name)
		prices := make([]quantity.Money, len(zones))
		for i, part := range spread(m, name) {
			dollars := float64(onDemand) / quantity.NanoDollars * (lowest + (highest-lowest)*part)
			prices[i] = min(onDemand, max(money(0.0001, 4), money(dollars, 4)))
		}
		m.Spot[name] = prices
	}
	m.SpotIsEstimate = true
	m.Sources = append(m.Sources, catalog.Source{Group: "spot", Date: referenceDate, Text: spotEstimation})
}

// spread ranks the zones that offer a type from 0 to 1, in an order that the
// family decides.
func spread(m *catalog.Market, name string) []float64 {
	zones := m.Offered[name]
	hash := func(i int) uint64 {
		h := fnv.New64a()
		h.Write([]byte(catalog.ParseName(name).Family + "/" + m.Zones[zones[i]].ID))
		return h.Sum64()
	}
	order := make([]int, len(zones))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(hash(a), hash(b)) })
	parts := make([]float64, len(zones))
	for rank, i := range order {
		parts[i] = 0.5
		if len(zones) > 1 {
			parts[i] = float64(rank) / float64(len(zones)-1)
		}
	}
	return parts
}

// money rounds dollars to so many decimals.
func money(dollars float64, decimals int) quantity.Money {
	unit := math.Pow10(decimals)
	return quantity.Money(math.Round(dollars*unit)) * quantity.Money(math.Round(quantity.NanoDollars/unit))
}
