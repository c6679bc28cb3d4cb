package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// tiny is an instance small enough to try everything, as plain numbers: the
// search below shares nothing with the engine.
type tiny struct {
	kind  string
	pods  []tinyPod
	ways  []tinyWay
	limit int            // nodes; 0 is none
	extra quantity.Money // that a node costs beside its instance
}

type tinyPod struct {
	app      string
	cpu, gib int64
	ruled    bool // of the app that the kind of rule is about
	tolerant bool
}

type tinyWay struct {
	pool, kind, zone string
	cpu, gib         int64
	price            quantity.Money
	tainted          bool
}

// bin is a node of a solution: a way to buy it and the pods on it.
type tinyBin struct {
	way  tinyWay
	pods []int
}

// What was measured for each kind of rule, in thousandths: the share of worlds
// in which the plan places fewer pods than is possible, and how much dearer than
// the cheapest it is at worst and on average. Where a pool may have few nodes
// only, it may get less of small pods than of large ones; where pods are spread over
// hostnames, a node gets no more than maxSkew of them, though the scheduler would
// stack more evenly; and two pods that need a node each may get two beside the
// one for all others. None of this matters in a fleet, and all of it here. Last
// is how much of the cheapest that the scheduler takes the bound is at least on average.
var tinyKinds = []struct {
	kind                  string
	short, worst, average int
	bound                 int
}{
	{"plain", 0, 40, 1, 940},
	{"zone spread", 0, 500, 10, 945},
	{"hostname spread", 0, 1700, 260, 940},
	{"zone apart", 0, 500, 10, 980},
	{"hostname apart", 0, 500, 10, 970},
	{"zone together", 0, 500, 20, 940},
	{"hostname together", 0, 0, 0, 950},
	{"port", 0, 500, 10, 970},
	{"volume", 0, 500, 20, 940},
	{"limit", 20, 0, 0, 940},
}

// On instances where everything can be tried, a plan is feasible, places all that
// can be placed, costs little more than the cheapest, and no less than its bound.
func TestStep_NextToEverythingThatCanBeTried(t *testing.T) {
	for _, k := range tinyKinds {
		t.Run(k.kind, func(t *testing.T) {
			const worlds = 100
			var short, exact, worst, sum, bounds, proven int
			for seed := range uint64(worlds) {
				x := anyTiny(k.kind, seed)
				w := x.world(t)
				out := w.step()
				for _, last := range []bool{false, true} {
					bins := x.binsOf(t, out, last)
					if why := x.broken(bins); why != "" {
						t.Fatalf("seed %d: %s\n%+v\n%+v", seed, why, x, bins)
					}
				}
				placed := 0
				for _, l := range of[plan.Launch](out) {
					placed += len(l.Pods)
				}
				best, cost := x.best(x.broken)
				switch {
				case placed > best:
					t.Fatalf("seed %d: %d pods placed, no more than %d can be\n%+v", seed, placed, best, x)
				case placed < best:
					short++
					continue
				}
				_, least := x.best(x.refused)
				for _, c := range out.Plan.Proofs {
					if placed < len(x.pods) {
						continue // the best placed others
					}
					if c.Bound > least {
						t.Fatalf("seed %d: bound %d, and %d is enough", seed, c.Bound, least)
					}
					bounds++
					proven += int(c.Bound * 1000 / least)
				}
				total := out.Plan.Total()
				if total < cost {
					t.Fatalf("seed %d: costs %d, and nothing costs less than %d\n%+v", seed, total, cost, x)
				}
				if total == cost {
					exact++
				}
				more := 0
				if cost > 0 {
					more = int((total - cost) * 1000 / cost)
				}
				sum += more
				worst = max(worst, more)
			}
			t.Logf("%d worlds: %d short of pods, %d exact, %d thousandths dearer on average, %d at worst; %d bounds of %d thousandths", worlds, short, exact, sum/worlds, worst, bounds, proven/max(1, bounds))
			if short*1000 > k.short*worlds || worst > k.worst || sum > k.average*worlds || proven < k.bound*bounds {
				t.Errorf("worse than before: %+v", k)
			}
		})
	}
}

func anyTiny(kind string, seed uint64) tiny {
	rng := rand.New(rand.NewPCG(seed, 77))
	x := tiny{kind: kind}
	tolerant := rng.IntN(2) == 0
	for a := range 1 + rng.IntN(2) {
		p := tinyPod{app: fmt.Sprint("app", a), cpu: int64(1+rng.IntN(6)) * 500, gib: int64(1 + rng.IntN(4)), ruled: a == 0, tolerant: tolerant}
		n := 1 + rng.IntN(3)
		if a == 0 {
			n = 2 + rng.IntN(2)
		}
		for range min(n, 5-len(x.pods)) {
			x.pods = append(x.pods, p)
		}
	}
	kinds := 2 + rng.IntN(2)
	for p := range 1 + rng.IntN(2) {
		for i := range kinds {
			way := tinyWay{
				pool: fmt.Sprint("p", p), kind: fmt.Sprint("t", i), cpu: int64(1+2*i+rng.IntN(2))*1000 - 100, gib: int64(2 + 3*i + rng.IntN(3)),
				price: quantity.Money(10*(i+1)+rng.IntN(10)) * 1_000_000, tainted: p == 1,
			}
			if p == 1 { // the same types, from another pool
				way = x.ways[2*i]
				way.pool, way.tainted = "p1", true
			}
			for _, zone := range []string{"a", "b"} {
				way.zone = zone
				x.ways = append(x.ways, way)
			}
		}
	}
	if kind == "limit" {
		x.limit = 1 + rng.IntN(3)
	}
	if seed%3 > 0 {
		x.extra = quantity.Money(rng.IntN(20)) * 1_000_000
	}
	return x
}

// world is the instance as objects.
func (x tiny) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Pools, w.objects.Classes[0].Types = nil, nil
	w.policy.NodeCost, w.objects.Classes[0].Volumes, w.objects.Classes[0].Address = x.extra/2, x.extra/3, x.extra-x.extra/2-x.extra/3
	for _, way := range x.ways {
		if !slices.ContainsFunc(w.objects.Pools, func(p cluster.Pool) bool { return p.Name == way.pool }) {
			p := cluster.Pool{Name: way.pool}
			if way.tainted {
				p.Taints = []cluster.Taint{{Key: "x", Effect: cluster.NoSchedule}}
			}
			if x.limit > 0 {
				p.Limits = []quantity.Amount{{Name: "nodes", Count: int64(x.limit)}}
			}
			w.pool(p)
		}
		size := quantity.Resources{MilliCPU: way.cpu, MemoryBytes: way.gib << 30, EphemeralBytes: 20 << 30, PodSlots: 30}
		types := &w.objects.Classes[0].Types
		if !slices.ContainsFunc(*types, func(c catalog.InstanceType) bool { return c.Name == way.kind }) {
			*types = append(*types, catalog.InstanceType{
				Name: way.kind, Capacity: size, Allocatable: size, Labels: label.FromMap(map[string]string{label.InstanceType: way.kind}),
			})
		}
		if way.pool == "p0" {
			c := &(*types)[slices.IndexFunc(*types, func(c catalog.InstanceType) bool { return c.Name == way.kind })]
			c.Offerings = append(c.Offerings, catalog.Offering{Zone: way.zone, CapacityType: label.OnDemand, Price: way.price, Available: true})
		}
	}
	for i, p := range x.pods {
		w.pods(fmt.Sprint(p.app, "-", i), 1, p.cpu, func(o *cluster.Pod) {
			o.Name, o.UID, o.Labels = fmt.Sprint("pod", i), fmt.Sprint("pod", i), label.FromMap(map[string]string{"app": p.app})
			o.Shape.Requests.MemoryBytes = p.gib << 30
			if p.tolerant {
				o.Shape.Tolerations = []cluster.Toleration{{Key: "x", Exists: true}}
			}
			if p.ruled {
				rule(x.kind, p.app, &o.Shape)
			}
		})
	}
	return w
}

func rule(kind, app string, s *cluster.Shape) {
	switch kind {
	case "zone spread":
		s.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods(app)}}
	case "hostname spread":
		s.Spread = []cluster.Spread{{Key: label.Hostname, MaxSkew: 1, Selector: pods(app)}}
	case "zone apart":
		s.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, app)}
	case "hostname apart":
		s.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, app)}
	case "zone together":
		s.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, app)}
	case "hostname together":
		s.PodAffinity = []cluster.PodTerm{term(label.Hostname, 0, app)}
	case "port":
		s.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}
	case "volume":
		s.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, "b"))}}
	}
}

// binsOf reads the plan's launches, each as its first type in its first or last
// zone.
func (x tiny) binsOf(t *testing.T, out engine.Output, last bool) []tinyBin {
	t.Helper()
	var bins []tinyBin
	for _, l := range of[plan.Launch](out) {
		zone := l.Zones[0]
		if last {
			zone = l.Zones[len(l.Zones)-1]
		}
		at := slices.IndexFunc(x.ways, func(w tinyWay) bool { return w.pool == l.Pool && w.kind == l.Types[0].Type && w.zone == zone })
		b := tinyBin{way: x.ways[at]}
		for _, id := range l.Pods {
			var i int
			if _, err := fmt.Sscanf(id, "default/pod%d", &i); err != nil {
				t.Fatal(err)
			}
			b.pods = append(b.pods, i)
		}
		bins = append(bins, b)
	}
	return bins
}

// broken says what is wrong with a solution, "" where nothing is.
func (x tiny) broken(bins []tinyBin) string {
	nodes, zones, hosts := map[string]int{}, map[string]int{"a": 0, "b": 0}, make([]int, len(bins))
	ruled := 0
	for i, b := range bins {
		if !x.holds(b) {
			return fmt.Sprintf("bin %d does not hold its pods", i)
		}
		if nodes[b.way.pool]++; x.limit > 0 && nodes[b.way.pool] > x.limit {
			return "limit"
		}
		for _, p := range b.pods {
			if x.pods[p].ruled {
				ruled++
				zones[b.way.zone]++
				hosts[i]++
			}
		}
	}
	mostHost, leastHost := 0, ruled
	for _, n := range hosts {
		mostHost, leastHost = max(mostHost, n), min(leastHost, n)
	}
	skew, mostZone := max(zones["a"], zones["b"])-min(zones["a"], zones["b"]), max(zones["a"], zones["b"])
	bad := map[string]bool{
		"zone spread": skew > 1, "hostname spread": mostHost-leastHost > 1, "zone apart": mostZone > 1, "hostname apart": mostHost > 1,
		"zone together": mostZone < ruled, "hostname together": mostHost < ruled, "port": mostHost > 1, "volume": zones["a"] > 0,
	}
	if bad[x.kind] {
		return x.kind
	}
	return ""
}

// refused says which rule the scheduler would not let a solution break, "" where it
// lets the pods come in some order. It is broken, but for spreads over zones: a zone
// counts once it has a node, so that pods may come to one before others have any.
func (x tiny) refused(bins []tinyBin) string {
	why := x.broken(bins)
	if why == "zone spread" {
		return ""
	}
	return why
}

func (x tiny) holds(b tinyBin) bool {
	var cpu, gib int64
	for _, i := range b.pods {
		p := x.pods[i]
		if b.way.tainted && !p.tolerant {
			return false
		}
		cpu, gib = cpu+p.cpu, gib+p.gib
	}
	return cpu <= b.way.cpu && gib <= b.way.gib
}

// best tries every way to place the pods that breaks nothing: the most that can be
// placed, and the least that this costs.
func (x tiny) best(broken func([]tinyBin) string) (placed int, cost quantity.Money) {
	var bins []tinyBin
	var try func(pod, count int, sum quantity.Money)
	try = func(pod, count int, sum quantity.Money) {
		if left := len(x.pods) - pod; count+left < placed || count+left == placed && placed > 0 && sum >= cost {
			return
		}
		if pod == len(x.pods) {
			if broken(bins) == "" && (count > placed || count == placed && sum < cost) {
				placed, cost = count, sum
			}
			return
		}
		for i := range bins {
			bins[i].pods = append(bins[i].pods, pod)
			if x.holds(bins[i]) {
				try(pod+1, count+1, sum)
			}
			bins[i].pods = bins[i].pods[:len(bins[i].pods)-1]
		}
		for _, way := range x.ways {
			b := tinyBin{way: way, pods: []int{pod}}
			if x.holds(b) {
				bins = append(bins, b)
				try(pod+1, count+1, sum+way.price+x.extra)
				bins = bins[:len(bins)-1]
			}
		}
		try(pod+1, count, sum) // without it
	}
	try(0, 0, 0)
	return placed, cost
}
