package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const gpus = "nvidia.com/gpu"

// types makes the world sell these only.
func (w *world) types(list ...catalog.InstanceType) *world {
	slices.SortFunc(list, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	w.objects.Classes[0].Types = list
	return w
}

// limit gives the first pool the limit.
func (w *world) limit(name string, n int64) *world {
	w.objects.Pools[0].Limits = append(w.objects.Pools[0].Limits, quantity.Amount{Name: name, Count: n})
	return w
}

func (w *world) minValues(key string, n int) *world {
	w.objects.Pools[0].MinValues = append(w.objects.Pools[0].MinValues, cluster.MinValues{Key: key, Count: n})
	return w
}

func withGPUs(x catalog.InstanceType, n int64) catalog.InstanceType {
	x.Capacity, x.Allocatable = x.Capacity.Extend(gpus, n), x.Allocatable.Extend(gpus, n)
	return x
}

func askGPUs(n int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(gpus, n) }
}

func gib(n int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = n << 30 }
}

// A launch counts as the largest type that it may become. Where the limit is short,
// a type that takes more of it is not carried, though it costs no more.
func TestStep_WhereALimitIsShortNothingIsCarriedThatTakesMoreOfIt(t *testing.T) {
	w := newWorld(t).types(instanceType("a.fat", 4, 32, 200_000_000), instanceType("b.lean", 4, 16, 205_000_000))
	w.limit(quantity.Memory, 64<<30).pods("web", 4, 3500, gib(4))
	out := w.step()
	if n := launchedFor(out); n != 4 {
		t.Errorf("launched for %d of 4 pods that the limit has room for", n)
	}
	checkSound(t, w.objects, out)
}

// A plan that spares what is limited carries all that takes no more of it than the
// best, the cheapest first.
func TestStep_APlanThatSparesLimitsCarriesTheCheapestFirst(t *testing.T) {
	w := newWorld(t).types(
		instanceType("a.fat", 4, 32, 200_000_000), instanceType("b.lean", 4, 16, 205_000_000), instanceType("c.huge", 4, 64, 300_000_000),
		instanceType("d.lean", 4, 16, 204_000_000), instanceType("e.leaner", 4, 15, 207_000_000),
	)
	w.limit(quantity.Memory, 48<<30).minValues(label.InstanceType, 3).pods("web", 3, 3500, gib(4))
	launches := of[plan.Launch](w.step())
	if len(launches) != 3 {
		t.Fatalf("%d launches, want 3", len(launches))
	}
	for _, l := range launches {
		var got []string
		for _, x := range l.Types {
			got = append(got, x.Type)
		}
		if want := []string{"d.lean", "b.lean", "e.leaner"}; !slices.Equal(got, want) || l.Price != l.Types[0].Price {
			t.Errorf("carries %q from %d, want %q", got, l.Price, want)
		}
	}
}

// A limit that stops one copy of a bin, because what it leaves is not varied enough
// for so much, says nothing of less.
func TestStep_ALimitThatStopsACopyLeavesWhatSmallerOnesMayBecome(t *testing.T) {
	w := newWorld(t).types(instanceType("a.large", 4, 8, 100_000_000), instanceType("a.small", 2, 4, 60_000_000), instanceType("b.larger", 5, 8, 101_000_000))
	w.limit(quantity.CPU, 9000).minValues(label.InstanceType, 2).pods("web", 8, 1900)
	out := w.step()
	if n := launchedFor(out); n != 3 {
		t.Errorf("launched for %d pods, want 2 on a large node and 1 beside", n)
	}
	checkSound(t, w.objects, out)
}

// Where a limit leaves too few types for minValues, it is the limit that is short.
func TestStep_ALimitThatLeavesTooFewTypesIsTheReason(t *testing.T) {
	w := newWorld(t).types(instanceType("a.large", 4, 8, 100_000_000), instanceType("b.larger", 5, 8, 101_000_000))
	w.limit(quantity.CPU, 4000).minValues(label.InstanceType, 2).pods("web", 1, 1900)
	for _, o := range w.step().Plan.Outcomes {
		if o.Verdict != plan.Unplaceable || o.Reasons[0].Cause != plan.LimitReached {
			t.Errorf("%s, want the limit", o.Explain())
		}
	}
}

// The largest types of a pool may have no GPU. What is packed as full as minValues
// allows is as full as the types that have what it needs allow.
func TestStep_MinValuesOfAPoolWithAndWithoutGPUs(t *testing.T) {
	types := []catalog.InstanceType{
		instanceType("c.24xlarge", 96, 192, 4_000_000_000), instanceType("c.12xlarge", 48, 96, 2_000_000_000),
		withGPUs(instanceType("g.xlarge", 4, 16, 500_000_000), 1), withGPUs(instanceType("g.2xlarge", 8, 32, 750_000_000), 1),
		withGPUs(instanceType("p.8xlarge", 32, 128, 2_000_000_000), 8), withGPUs(instanceType("p.16xlarge", 64, 256, 9_000_000_000), 8),
		withGPUs(instanceType("q.12xlarge", 48, 64, 1_900_000_000), 4),
	}
	for _, c := range []struct {
		pods  int
		gpus  int64
		least int
	}{{8, 1, 2}, {8, 1, 4}, {3, 4, 3}, {2, 8, 2}} {
		w := newWorld(t).types(slices.Clone(types)...).minValues(label.InstanceType, c.least)
		w.pods("train", c.pods, 2000, askGPUs(c.gpus)).pods("web", 30, 3000)
		out := w.step()
		if n := launchedFor(out); n != c.pods+30 {
			t.Errorf("%+v: launched for %d pods", c, n)
		}
		for _, l := range of[plan.Launch](out) {
			if len(l.Types) < c.least {
				t.Errorf("%+v: %v", c, typed([]plan.Launch{l}))
			}
		}
		checkSound(t, w.objects, out)
	}
}

// Any instance that a launch may become is within the tolerance, whatever its zone.
func TestStep_ASpotNodeComesInNoZoneWhereItIsTooDear(t *testing.T) {
	spot := func(name string, cpu int64, prices map[string]quantity.Money) catalog.InstanceType {
		x := instanceType(name, cpu, 2*cpu, 900_000_000)
		for i := range x.Offerings {
			if x.Offerings[i].CapacityType == label.Spot {
				x.Offerings[i].Price = prices[x.Offerings[i].Zone]
			}
		}
		return x
	}
	build := func() *world {
		w := newWorld(t).types(
			spot("a.large", 2, map[string]quantity.Money{"a": 100_000_000, "b": 300_000_000}),
			spot("b.large", 2, map[string]quantity.Money{"a": 110_000_000, "b": 105_000_000}),
		)
		w.objects.Pools = nil
		return w.pool(cluster.Pool{Name: "spot", Requirements: label.All(label.Is(label.CapacityType, label.Spot))})
	}
	l := of[plan.Launch](build().pods("web", 1, 1500).step())[0]
	if got := typed([]plan.Launch{l}); !slices.Equal(l.Zones, []string{"a"}) || !slices.Equal(got, []string{"a.large", "b.large"}) {
		t.Errorf("%v in %v, want both in a", got, l.Zones)
	}
	pinned := func(p *cluster.Pod) {
		p.Shape.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, "b"))}}
	}
	l = of[plan.Launch](build().pods("web", 1, 1500, pinned).step())[0]
	if got := typed([]plan.Launch{l}); !slices.Equal(l.Zones, []string{"b"}) || !slices.Equal(got, []string{"b.large"}) {
		t.Errorf("pinned to b: %v in %v, want what is cheap there", got, l.Zones)
	}
	w := build()
	w.types(w.objects.Classes[0].Types[0])
	l = of[plan.Launch](w.pods("web", 1, 1500, pinned).step())[0]
	if !slices.Equal(l.Zones, []string{"b"}) || l.Price != 300_000_000 {
		t.Errorf("pinned to a dear zone: %v from %d", l.Zones, l.Price)
	}
	w = build().minValues(label.Zone, 2)
	l = of[plan.Launch](w.pods("web", 1, 1500).step())[0]
	if len(l.Zones) != 2 {
		t.Errorf("where the pool asks for two zones: %v", l.Zones)
	}
}

// So it is in any world, but for pools that ask for several types or zones.
func TestStep_NoInstanceOfALaunchIsDearerThanTheToleranceAllows(t *testing.T) {
	for i := range 300 {
		w := newWorld(t)
		(&tape{noise(8000+i, 60+20*(i%30))}).world(w)
		w.memory, w.policy.OnDemandTolerance = engine.Memory{}, 50
		for k := range w.objects.Pools {
			w.objects.Pools[k].MinValues = nil
		}
		if _, err := cluster.New(w.objects); err != nil {
			continue
		}
		for _, l := range of[plan.Launch](w.step()) {
			limit := l.Price + l.Price/1000*quantity.Money(map[bool]int64{true: w.policy.SpotTolerance, false: 50}[l.CapacityType == label.Spot])
			for _, c := range w.objects.Classes {
				for _, x := range c.Types {
					for _, o := range x.Offerings {
						carried := c.Name == l.Class && slices.ContainsFunc(l.Types, func(y plan.Choice) bool { return y.Type == x.Name })
						if carried && o.CapacityType == l.CapacityType && o.Available && slices.Contains(l.Zones, o.Zone) && o.Price > limit {
							t.Errorf("world %d: %s in %s for %d, beside %d", i, x.Name, o.Zone, o.Price, l.Price)
						}
					}
				}
			}
		}
	}
}

// A limit that is far away changes nothing: what waits for more pods waits, and
// pods on their way change places.
func TestStep_ALimitThatDoesNotBindIsAsNone(t *testing.T) {
	build := func(limits ...quantity.Amount) *world {
		w := newWorld(t)
		w.objects.Pools[0].Limits = limits
		w.memory.Growth = memory.Growth{Demand: 0, Last: w.now}
		w.now = start.Add(10 * time.Millisecond)
		return w.pods("web", 3, 1100, func(p *cluster.Pod) { p.Created = w.now })
	}
	for name, limits := range map[string][]quantity.Amount{
		"cpu": {{Name: quantity.CPU, Count: 1_000_000}}, "memory": {{Name: quantity.Memory, Count: 1 << 40}}, "nodes": {{Name: "nodes", Count: 100}},
		"a resource that nothing has": {{Name: "example.com/x", Count: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			free, limited := build().step(), build(limits...).step()
			if text := fmt.Sprintf("%+v", free.Plan); len(of[plan.Wait](free)) == 0 {
				t.Fatalf("nothing waits without a limit: %s", text)
			}
			if a, b := fmt.Sprintf("%+v", free.Plan.Actions), fmt.Sprintf("%+v", limited.Plan.Actions); a != b {
				t.Errorf("without:\n%s\nwith:\n%s", a, b)
			}
		})
	}
	if out := build(quantity.Amount{Name: quantity.CPU, Count: 7000}).step(); launchedFor(out) != 3 {
		t.Errorf("a limit that may bind: launched for %d of 3 pods at once", launchedFor(out))
	}
}

// It is so in any world: a limit that is far away is as none.
func TestStep_LimitsThatNothingReachesChangeNoPlan(t *testing.T) {
	for i := range 300 {
		var plans []plan.Plan
		for _, limits := range [][]quantity.Amount{nil, {{Name: "nodes", Count: 1 << 40}, {Name: "example.com/none", Count: 0}}} {
			w := newWorld(t)
			(&tape{noise(7000+i, 60+20*(i%30))}).world(w)
			w.memory.Growth = memory.Growth{Last: w.now.Add(-time.Millisecond)}
			for k := range w.objects.Pools {
				w.objects.Pools[k].Limits = limits
			}
			if _, err := cluster.New(w.objects); err != nil {
				continue
			}
			plans = append(plans, w.step().Plan)
		}
		if len(plans) == 2 && !reflect.DeepEqual(plans[0], plans[1]) {
			t.Errorf("world %d without limits:\n%+v\nwith:\n%+v", i, plans[0], plans[1])
		}
	}
}

// Whether a limit is short is judged by the pods that still lack room.
func TestStep_PodsChangePlacesBelowALimit(t *testing.T) {
	w := apart(t).limit("nodes", 4)
	w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
		Name: "own", UID: "own", Ready: true, Allocatable: quantity.Resources{MilliCPU: 4000, MemoryBytes: 1 << 30, PodSlots: 60},
		Labels: label.FromMap(map[string]string{label.Hostname: "own"}),
	})
	w.pods("small", 40, 100)
	if got := of[plan.Launch](w.step()); len(got) != 0 {
		t.Errorf("launched %+v, though there is room if pods change places", got)
	}
}
