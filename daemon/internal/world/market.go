package world

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// sameParts is which part of a price another one may differ to be the same for decisions:
// spot prices change a little every few minutes, and each change has the fleet searched anew.
const sameParts = 100

// Sold returns what the instance types are, and where AWS sells them. They must not be changed.
func (w *World) Sold() ([]catalog.Fact, catalog.Market) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.facts, w.market
}

// Sell replaces the facts of the instance types and the market. Only the classes for which
// that changes something that matters are news to the decision core. The arguments must not
// be changed any more.
func (w *World) Sell(facts []catalog.Fact, market catalog.Market) {
	w.mu.Lock()
	w.facts, w.market = facts, market
	classes, rooms := maps.Clone(w.objects.classes), maps.Clone(w.translations.rooms)
	reports, reported, overhead := w.reports, w.reported, w.overhead
	w.mu.Unlock()
	changed := false
	for name, c := range classes {
		view := viewOf(c, facts, market, rooms, reports, overhead, w.now()) // without the lock: it takes milliseconds
		w.mu.Lock()
		known, cached := w.translations.classes[name]
		switch current := w.objects.classes[name] == c && w.reported == reported; {
		case current && cached && same(known, view):
		case current:
			w.translations.classes[name], changed = view, true
			w.translations.touch(ref{classKind, name})
		default:
			w.touchClass(name)
			changed = true
		}
		w.mu.Unlock()
	}
	if changed {
		w.mu.Lock()
		subscriber := w.subscriber
		w.mu.Unlock()
		w.notify(concern{}, subscriber)
	}
}

// same says whether two views of a class differ in nothing but prices, and in those by
// little. The first is the one that decisions are made with, so that small changes add up.
func same(known, view cluster.Class) bool {
	if len(known.Types) != len(view.Types) {
		return false
	}
	types := slices.Clone(view.Types)
	for i := range types {
		before := known.Types[i].Offerings
		if len(before) != len(types[i].Offerings) {
			return false
		}
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			now := &types[i].Offerings[j]
			if by := now.Price - before[j].Price; max(by, -by) <= before[j].Price/sameParts {
				now.Price = before[j].Price
			}
		}
	}
	view.Types = types
	return reflect.DeepEqual(known, view)
}

// Zones returns the zones of the classes' subnets, each once, sorted by name.
func (w *World) Zones() []catalog.Zone {
	var out []catalog.Zone
	for _, c := range w.EC2NodeClasses() {
		for _, s := range c.Status.Subnets {
			out = append(out, catalog.Zone{Name: s.Zone, ID: s.ZoneID})
		}
	}
	slices.SortFunc(out, func(a, b catalog.Zone) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return slices.Compact(out)
}
