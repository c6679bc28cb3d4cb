package proof_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// small is a world of a few pods and of a few ways to run them. It says
// everything twice: as objects for the checker, and as plain numbers for the
// search below.
type small struct {
	objects cluster.Objects
	demand  []plan.DemandPrice // without prices
	apart   map[string]bool    // groups of one set of pods apart
	zonal   map[string]bool    // groups of another
	pods    []smallPod
	places  []smallPlace
	cost    quantity.Money // of each new node; see plan.Certificate.NodeCost
}

type smallPod struct {
	cpu, gib int64
	group    int
	zone     string // "" any
	tolerant bool
	apart    bool
	rule     string // that its group alone has
	least    int    // zones that its spread asks for
}

// Rules that one group alone has.
const (
	alone       = "one a zone"
	even        = "spread over zones" // with a skew of 1, counting the pods of the team
	inseparable = "on one node"
)

type smallPlace struct {
	cpu, gib int64
	zone     string
	tainted  bool
	price    quantity.Money
	count    int // number of such places; 0 means any number
	apart    int // places for pods apart
	team     int // pods of the team that run there already
	node     bool
}

func anySmall(t *rapid.T) small {
	w := small{apart: map[string]bool{}, zonal: map[string]bool{}}
	w.cost = rapid.SampledFrom([]quantity.Money{0, 0, 7, 90}).Draw(t, "node cost")
	number := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	zone := rapid.SampledFrom([]string{"a", "b"})
	taint := []cluster.Taint{{Key: "t", Effect: cluster.NoSchedule}}
	separate, terms := byPort, rapid.Bool().Draw(t, "terms")
	if terms {
		separate = byTerm
	}
	for i := range number("groups", 1, 3) {
		p := smallPod{group: i, cpu: int64(number("cpu", 1, 3)), gib: int64(number("gib", 1, 3)), tolerant: rapid.Bool().Draw(t, "tolerant"), apart: rapid.Bool().Draw(t, "apart")}
		if rapid.Bool().Draw(t, "zonal") {
			p.zone = zone.Draw(t, "zone")
		}
		p.rule = rapid.SampledFrom([]string{"", alone, even, even, inseparable}).Draw(t, "rule")
		if p.rule == even {
			p.least = 2 * number("two zones at least", 0, 1)
		}
		app, n := fmt.Sprint("app", i), number("replicas", 1, 3)
		if p.rule == alone {
			n = min(n, 2)
		}
		w.objects.Pods = append(w.objects.Pods, pods(app, n, p.cpu, p.gib, func(x *cluster.Pod) {
			if p.zone != "" {
				x.Shape.NodeAffinity = []label.Requirements{label.All(label.Is(label.Zone, p.zone))}
			}
			if p.tolerant {
				x.Shape.Tolerations = []cluster.Toleration{{Exists: true}}
			}
			if p.apart {
				separate(x)
			}
			byRule(p.rule, app, x)
			if p.rule == even {
				x.Shape.Spread[0].MinDomains = int64(p.least)
			}
		})...)
		w.apart["default/"+app] = p.apart
		if len(w.zonal) == 0 && (p.rule == even || p.rule == alone) {
			w.zonal["default/"+app] = true
		}
		w.demand = append(w.demand, plan.DemandPrice{Group: "default/" + app, Count: int64(n), Together: p.rule == inseparable})
		for range n {
			w.pods = append(w.pods, p)
		}
	}
	for i := range number("pools", 1, 2) {
		pool := cluster.Pool{Name: fmt.Sprint("pool", i), Class: fmt.Sprint("class", i), Ready: true}
		class := cluster.Class{Name: pool.Class, Ready: true, Volumes: quantity.Money(number("volumes", 0, 40)), Address: quantity.Money(number("address", 0, 1))}
		beside := class.Volumes + class.Address + w.cost
		tainted := rapid.Bool().Draw(t, "tainted")
		if tainted {
			pool.Taints = taint
		}
		for j := range number("types", 1, 2) {
			x := smallPlace{cpu: int64(number("type cpu", 2, 8)), gib: int64(number("type gib", 2, 8)), zone: zone.Draw(t, "type zone"), tainted: tainted, price: quantity.Money(number("price", 1, 99)), apart: 1}
			offering := onDemand(x.zone, x.price)
			if rapid.IntRange(0, 3).Draw(t, "reserved") == 0 {
				x.price, x.count = x.price/4, number("left", 1, 2)
				offering = reserved(x.zone, int64(x.count))
				offering.Price, offering.Reservation = x.price, fmt.Sprint(i, j)
			}
			offerings := []catalog.Offering{offering}
			price := x.price
			x.price += beside
			w.places = append(w.places, x)
			if other := map[string]string{"a": "b", "b": "a"}[x.zone]; x.count == 0 && rapid.IntRange(0, 2).Draw(t, "in both") > 0 {
				x.zone = other
				offerings, w.places = append(offerings, onDemand(other, price)), append(w.places, x)
			}
			class.Types = append(class.Types, instanceType(fmt.Sprint("type", i, j), x.cpu, x.gib, offerings...))
		}
		w.objects.Pools, w.objects.Classes = append(w.objects.Pools, pool), append(w.objects.Classes, class)
	}
	for i := range number("nodes", 0, 2) {
		name := fmt.Sprint("node", i)
		x := smallPlace{cpu: int64(number("node cpu", 0, 8)), gib: int64(number("node gib", 1, 8)), zone: zone.Draw(t, "node zone"), tainted: rapid.Bool().Draw(t, "node tainted"), count: 1, apart: 1, node: true}
		n := cluster.Node{Name: name, Ready: true, Allocatable: size(x.cpu, x.gib), Labels: label.FromMap(map[string]string{label.Zone: x.zone})}
		if x.tainted {
			n.Taints = taint
		}
		running := pods("running-on-"+name, 1, 0, 0, func(x *cluster.Pod) { x.Node = name })
		if rapid.Bool().Draw(t, "taken") {
			separate(&running[0])
			x.apart = 0
		}
		if rapid.Bool().Draw(t, "of the team") {
			running[0].Labels, x.team = running[0].Labels.With("team", "x"), 1
		}
		if rapid.Bool().Draw(t, "named") {
			n.Labels = n.Labels.With(label.Hostname, name)
		} else if terms {
			x.apart = len(w.pods)
		}
		w.objects.Pods, w.objects.Nodes = append(w.objects.Pods, running...), append(w.objects.Nodes, n)
		w.places = append(w.places, x)
	}
	return w
}

// optimum searches all ways to run the pods. It is MaxInt64 where there is no
// way.
func (w small) optimum() quantity.Money {
	best := quantity.Money(math.MaxInt64)
	a, b := w.costs("a"), w.costs("b")
	all := len(a) - 1
	for set := range a {
		if a[set] < math.MaxInt64 && b[all&^set] < math.MaxInt64 && w.allowed(map[string]int{"a": set, "b": all &^ set}) {
			best = min(best, a[set]+b[all&^set])
		}
	}
	return best
}

// costs is the least cost in the zone for each set of pods.
func (w small) costs(zone string) []quantity.Money {
	all := 1 << len(w.pods)
	cost := make([]quantity.Money, all)
	for set := 1; set < all; set++ {
		cost[set] = math.MaxInt64
	}
	for _, x := range w.places {
		rounds := x.count
		if rounds == 0 {
			rounds = len(w.pods)
		}
		for range rounds {
			for set := all - 1; set > 0 && x.zone == zone; set-- {
				for part := set; part > 0; part = (part - 1) & set {
					if rest := cost[set&^part]; rest < math.MaxInt64 && w.fits(part, x) {
						cost[set] = min(cost[set], rest+x.price)
					}
				}
			}
		}
	}
	return cost
}

// allowed says whether the groups' rules over zones allow these sets of pods in
// the zones, for some order of arrival. Other pods of the team may arrive
// before, in zones where that helps, and after, in zones where it does not. A
// zone counts from the arrival of its first node on, or where too few do.
func (w small) allowed(sets map[string]int) bool {
	for i, p := range w.pods {
		if i > 0 && w.pods[i-1].group == p.group || p.rule != alone && p.rule != even {
			continue
		}
		for zone, set := range sets {
			n := w.count(set, func(x smallPod) bool { return x.group == p.group })
			if p.rule == alone && n > 1 {
				return false
			}
			if p.rule == alone || n == 0 {
				continue
			}
			for other, there := range sets {
				if (p.least > 1 || w.counts(other, p)) && w.team(zone)+n > 1+w.team(other)+w.count(there, func(x smallPod) bool { return x.rule == even }) {
					return false
				}
			}
		}
	}
	return true
}

func (w small) count(set int, of func(smallPod) bool) (n int) {
	for ; set > 0; set &= set - 1 {
		if of(w.pods[bits.TrailingZeros(uint(set))]) {
			n++
		}
	}
	return n
}

// team is how many pods of the team run in the zone.
func (w small) team(zone string) (n int) {
	for _, x := range w.places {
		if x.zone == zone {
			n += x.team
		}
	}
	return n
}

// counts says whether there is a node in the zone that counts for a spread of such
// pods.
func (w small) counts(zone string, p smallPod) bool {
	return (p.zone == "" || p.zone == zone) && slices.ContainsFunc(w.places, func(x smallPlace) bool { return x.zone == zone && x.node })
}

func (w small) fits(part int, x smallPlace) bool {
	var cpu, gib int64
	apart, alone := 0, map[int]int{}
	for rest := part; rest > 0; rest &= rest - 1 {
		p := w.pods[bits.TrailingZeros(uint(rest))]
		if p.zone != "" && p.zone != x.zone || x.tainted && !p.tolerant {
			return false
		}
		cpu, gib = cpu+p.cpu, gib+p.gib
		if p.apart {
			apart++
		}
		if p.rule == inseparable {
			alone[p.group]++
		}
	}
	for group, n := range alone {
		if n < w.count(1<<len(w.pods)-1, func(p smallPod) bool { return p.group == group }) {
			return false
		}
	}
	return cpu <= x.cpu && gib <= x.gib && apart <= x.apart
}

// byRule gives a pod the rule of its group.
func byRule(rule, app string, p *cluster.Pod) {
	self := cluster.PodTerm{
		Key: label.Hostname, Selector: cluster.PodSelector{Match: label.All(label.Is("app", app))},
		Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true},
	}
	switch rule {
	case alone:
		self.Key = label.Zone
		p.Shape.PodAntiAffinity = append(p.Shape.PodAntiAffinity, self)
	case inseparable:
		p.Shape.PodAffinity = append(p.Shape.PodAffinity, self)
	case even:
		p.Labels = p.Labels.With("team", "x")
		p.Shape.Spread = append(p.Shape.Spread, cluster.Spread{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("team", "x"))}})
	}
}

// byTerm and byPort put a pod into a set of pods that need a node each.
func byTerm(p *cluster.Pod) {
	p.Labels = p.Labels.With("set", "x")
	p.Shape.PodAntiAffinity = append(p.Shape.PodAntiAffinity, cluster.PodTerm{
		Key: label.Hostname, Selector: cluster.PodSelector{Match: label.All(label.Is("set", "x"))},
		Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true},
	})
}

func byPort(p *cluster.Pod) {
	p.Shape.Ports = append(p.Shape.Ports, cluster.HostPort{IP: "10.0.0.1", Protocol: "TCP", Port: 80})
}

// guess makes a certificate of random prices, raised as far as the checker
// accepts.
func guess(t *rapid.T, w small, key proof.Key) (plan.Certificate, quantity.Money, error) {
	c := plan.Certificate{NodeCost: w.cost, Scale: 20, Dimensions: []plan.Dimension{{Resource: quantity.CPU, Unit: 100}, {Resource: quantity.Memory, Unit: 64 << 20}, {Resource: quantity.Pods, Unit: 1}, {Resource: plan.Exclusive(1), Unit: 1}, {Resource: plan.Exclusive(2), Unit: 1}}}
	weights := make([][]int64, len(w.demand))
	alike := rapid.Bool().Draw(t, "alike") // good prices mostly are
	most, ofZones := int64(9), int64(0)
	switch len(w.zonal) * rapid.IntRange(0, 3).Draw(t, "of zones") {
	case 2:
		ofZones = 99
	case 3:
		most, ofZones = 0, 1
	}
	surcharge := make([]int64, len(w.demand))
	for i := range w.demand {
		surcharge[i] = rapid.SampledFrom([]int64{0, 0, 30, 300}).Draw(t, "surcharge") * rapid.Int64Range(0, most).Draw(t, "of")
		if weights[i] = weights[0]; i == 0 || !alike {
			weights[i] = append(rapid.SliceOfN(rapid.Int64Range(0, most), 3, 3).Draw(t, "weights"), rapid.Int64Range(0, 11*most).Draw(t, "apart"), ofZones)
		}
	}
	at := func(factor int64) (quantity.Money, error) {
		c.Demand = nil
		for i, d := range w.demand {
			for _, x := range weights[i] {
				d.Prices = append(d.Prices, x*factor)
			}
			d.Surcharge = surcharge[i] * factor
			if !w.apart[d.Group] {
				d.Prices[3] = 0
			}
			if !w.zonal[d.Group] {
				d.Prices[4] = 0
			}
			c.Demand = append(c.Demand, d)
		}
		return proof.Proven(w.objects, c, key)
	}
	best, err := at(0)
	low, high := int64(0), int64(1)<<45
	for err == nil && high-low > 1 {
		middle := (low + high) / 2
		bound, refused := at(middle)
		if refused != nil {
			high = middle
			continue
		}
		low, best = middle, max(best, bound)
	}
	if err == nil {
		_, err = at(low)
	}
	return c, best, err
}

func TestProven_NeverExceedsTheCheapestFleet(t *testing.T) {
	worlds, positive := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := anySmall(t)
		optimum := w.optimum()
		if optimum == math.MaxInt64 {
			return // some pod fits nowhere
		}
		c, bound, err := guess(t, w, key)
		if err != nil {
			t.Fatalf("prices low enough are refused: %v", err)
		}
		worlds++
		if bound > optimum {
			t.Fatalf("bound %d, and a fleet for %d carries the pods", bound, optimum)
		}
		if bound > 0 {
			positive++
		}
		c.Bound = optimum + 1
		if proof.Check(w.objects, c, key) == nil {
			t.Fatalf("a bound above the optimum %d is accepted", optimum)
		}
	})
	if positive*4 < worlds {
		t.Errorf("%d of %d bounds say anything", positive, worlds)
	}
}
