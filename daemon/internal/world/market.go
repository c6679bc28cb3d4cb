package world

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Sell replaces the facts of the instance types and the market. Only the classes for which
// that changes something are news to the decision core. The arguments must not be changed
// any more.
func (w *World) Sell(facts []catalog.Fact, market catalog.Market) {
	w.mu.Lock()
	w.facts, w.market = facts, market
	classes, rooms := maps.Clone(w.objects.classes), maps.Clone(w.translations.rooms)
	w.mu.Unlock()
	views := make(map[string]cluster.Class, len(classes)) // made without the lock: it takes milliseconds each
	for name, c := range classes {
		views[name] = translate.Class(c, facts, market, rooms)
	}
	w.mu.Lock()
	changed := false
	for name, view := range views {
		known, cached := w.translations.classes[name]
		if !cached || w.objects.classes[name] != classes[name] || !reflect.DeepEqual(known, view) {
			changed = true
			w.touchClass(name)
		}
	}
	subscriber := w.subscriber
	w.mu.Unlock()
	if changed {
		w.notify(concern{}, subscriber)
	}
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
