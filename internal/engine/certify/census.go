package certify

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// sharesOne says whether all placed pods of the class must share one node. That is
// so if they have required affinity over hostnames to each other, and to no other
// pod.
func (k *certifier) sharesOne(c *demand.Class) bool {
	return len(k.launches) > 0 && c.Placed() > 1 && slices.ContainsFunc(c.Group.Shape.PodAffinity, func(t cluster.PodTerm) bool {
		return t.Weight == 0 && t.Key == label.Hostname && t.InNamespaces.Nothing && slices.Contains(t.Namespaces, c.Group.Namespace) &&
			t.Selector.Selects(c.Group.Labels) && k.selected(t.Namespaces, &t.Selector) == c.Placed()
	})
}

// selected returns the number of all pods, declared ones included, that are in the
// namespaces and that the selector selects.
func (k *certifier) selected(namespaces []string, x *cluster.PodSelector) (n int64) {
	if k.alike == nil {
		k.gatherAlike()
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		for i := range k.alike[namespace] {
			a := &k.alike[namespace][i]
			if _, unmet := x.Match.Unmet(&a.labels); !unmet && !x.Nothing {
				n += min(a.pods, math.MaxInt64-n)
			}
		}
	}
	return n
}

// alike is a set of pods that no selector tells from each other.
type alike struct {
	labels label.Labels
	pods   int64
}

func (k *certifier) gatherAlike() {
	k.alike = map[string][]alike{}
	index := map[string]int{}
	var key []byte
	enter := func(namespace string, labels label.Labels, pods int64) {
		all := k.alike[namespace]
		key = labels.AppendKey(label.AppendText(key[:0], namespace))
		i, known := index[string(key)]
		if !known {
			index[string(key)] = len(all)
			k.alike[namespace] = append(all, alike{labels, pods})
			return
		}
		all[i].pods += min(pods, math.MaxInt64-all[i].pods)
	}
	for g := range k.Snapshot.Groups() {
		enter(g.Namespace, g.Labels, g.Size())
	}
	for _, w := range k.Snapshot.Workloads() {
		if w.Missing > 0 {
			enter(w.Namespace, w.Labels, w.Missing)
		}
	}
}

// fewLaunches limits, for each zone, the number of launches with which a spread
// over zones is looked at. Such a spread asks for one node in each zone at most,
// which means little among more launches.
const fewLaunches = 16

// spreadOf returns the class as an exclusive set if its spread over zones forces
// several new nodes. The set needs one node in each of as many zones as the rule
// asks for, among the zones where a node for the class is for sale. It returns
// false if the launches do not use as many nodes for the class: a pool of less
// weight may offer more zones.
func (k *certifier) spreadOf(c *demand.Class, where pack.Where) (exclusive, bool) {
	shape, n := &c.Group.Shape, c.Placed()
	if len(shape.Spread) == 0 || len(k.market.Fleet.Zones)*fewLaunches < len(k.launches) {
		return exclusive{}, false
	}
	for i := range shape.Spread {
		x := &shape.Spread[i]
		// A spread with an empty selector counts no pods.
		if x.Soft || x.Key != label.Zone || len(x.Selector.Match) == 0 || !x.Selector.Selects(c.Group.Labels) {
			continue
		}
		zones := k.market.ZonesFor(shape, where)
		if min(zones, n) < 2 {
			continue
		}
		others := k.selected([]string{c.Group.Namespace}, &x.Selector) - n
		used := int64(1)
		for used < min(zones, n) && (n-1)/used+1-others/(zones-used) > max(1, x.MaxSkew) {
			used++
		}
		if used > 1 && used <= k.launchedFor(c) {
			return exclusive{key: c.Group.Key, spread: x, members: []*demand.Class{c}, pods: used}, true
		}
	}
	return exclusive{}, false
}

// launchedFor returns how many launches hold pods of the class.
func (k *certifier) launchedFor(c *demand.Class) (n int64) {
	for i := range k.launches {
		if slices.ContainsFunc(k.launches[i].Planned, func(x cluster.Slot) bool { return x.Kind == c.Group.Kind }) {
			n++
		}
	}
	return n
}
