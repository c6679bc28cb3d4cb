package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// scarce is an instance small enough to try everything, in which there may be too
// little for all: one pool with limits, of types with and without GPUs, some of them
// reserved, that asks for several types for each launch. It is plain numbers: the
// search below shares nothing with the engine.
type scarce struct {
	pods   []scarcePod
	types  []scarceType
	limits [4]int64 // of cpu, GiB, GPUs and nodes; 0 is none
	least  int      // different types of a launch
}

type scarcePod struct {
	size     [3]int64 // half CPUs, GiB, GPUs
	priority int
}

type scarceType struct {
	size     [3]int64
	price    quantity.Money
	reserved int // nodes that are paid for
}

// scarceWay is a way to launch a node: as one of the types.
type scarceWay struct {
	types    []int
	reserved bool
	holds    [3]int64
	counts   [4]int64 // against limits
	price    quantity.Money
}

func anyScarce(seed uint64) scarce {
	rng := rand.New(rand.NewPCG(seed, 78))
	x := scarce{least: 1 + rng.IntN(5)/3}
	for a := range 1 + rng.IntN(3) {
		p := scarcePod{size: [3]int64{int64(1 + rng.IntN(7)), int64(1 + rng.IntN(6)), 0}, priority: rng.IntN(2)}
		if a == 1 {
			p.size[2] = int64(rng.IntN(3))
		}
		for range min(1+rng.IntN(3), 5-len(x.pods)) {
			x.pods = append(x.pods, p)
		}
	}
	for i := range 3 + rng.IntN(2) {
		y := scarceType{size: [3]int64{int64(2 + 2*i + rng.IntN(3)), int64(2 + rng.IntN(4)*(i+1)), 0}, price: quantity.Money(10*(i+1)+rng.IntN(10)) * 1_000_000}
		if rng.IntN(2) == 0 {
			y.size[2] = int64(1 + rng.IntN(2))
			y.price += quantity.Money(y.size[2]) * 7_000_000
		}
		if rng.IntN(5) == 0 {
			y.reserved = 1 + rng.IntN(2)
		}
		x.types = append(x.types, y)
	}
	for d, most := range []int{20, 24, 4, 4} {
		if rng.IntN(3) == 0 {
			x.limits[d] = int64(1 + most/4 + rng.IntN(most))
		}
	}
	return x
}

func (x scarce) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Pools, w.objects.Classes[0].Types = nil, nil
	p := cluster.Pool{Name: "p"}
	for d, name := range []string{quantity.CPU, quantity.Memory, gpus, "nodes"} {
		if unit := []int64{500, 1 << 30, 1, 1}[d]; x.limits[d] > 0 {
			p.Limits = append(p.Limits, quantity.Amount{Name: name, Count: x.limits[d] * unit})
		}
	}
	if x.least > 1 {
		p.MinValues = []cluster.MinValues{{Key: label.InstanceType, Count: x.least}}
	}
	w.pool(p)
	var types []catalog.InstanceType
	for i, y := range x.types {
		size := quantity.Resources{MilliCPU: y.size[0] * 500, MemoryBytes: y.size[1] << 30, EphemeralBytes: 20 << 30, PodSlots: 30}
		if y.size[2] > 0 {
			size = size.Extend(gpus, y.size[2])
		}
		name := fmt.Sprint("t", i)
		c := catalog.InstanceType{Name: name, Capacity: size, Allocatable: size, Labels: label.FromMap(map[string]string{label.InstanceType: name})}
		c.Offerings = append(c.Offerings, catalog.Offering{Zone: "a", CapacityType: label.OnDemand, Price: y.price, Available: true})
		if y.reserved > 0 {
			c.Offerings = append(c.Offerings, catalog.Offering{
				Zone: "a", CapacityType: label.Reserved, Available: true, Reservation: "cr-" + name, Left: int64(y.reserved),
			})
		}
		types = append(types, c)
	}
	w.types(types...)
	for i, p := range x.pods {
		w.pods(fmt.Sprint("pod", i), 1, p.size[0]*500, gib(p.size[1]), func(o *cluster.Pod) {
			o.Name, o.UID, o.Shape.Priority = fmt.Sprint("pod", i), fmt.Sprint("pod", i), int32(p.priority)
			if p.size[2] > 0 {
				askGPUs(p.size[2])(o)
			}
		})
	}
	return w
}

// ways lists the ways to launch a node.
func (x scarce) ways() []scarceWay {
	var out []scarceWay
	for i, y := range x.types {
		if y.reserved > 0 && x.least == 1 {
			out = append(out, scarceWay{types: []int{i}, reserved: true, holds: y.size, counts: [4]int64{y.size[0], y.size[1], y.size[2], 1}})
		}
	}
	for set := 1; set < 1<<len(x.types); set++ {
		var w scarceWay
		for i, y := range x.types {
			if set>>i&1 == 0 {
				continue
			}
			if len(w.types) == 0 {
				w.holds, w.price = y.size, y.price
			}
			w.types, w.price = append(w.types, i), min(w.price, y.price)
			for d := range y.size {
				w.holds[d], w.counts[d] = min(w.holds[d], y.size[d]), max(w.counts[d], y.size[d])
			}
		}
		if w.counts[3] = 1; len(w.types) == x.least {
			out = append(out, w)
		}
	}
	return out
}

// score is how good a plan is: pods placed of the higher and of the lower priority,
// and what it costs.
type score struct {
	placed [2]int
	cost   quantity.Money
}

func (s score) better(o score) bool {
	if s.placed[1] != o.placed[1] {
		return s.placed[1] > o.placed[1]
	}
	if s.placed[0] != o.placed[0] {
		return s.placed[0] > o.placed[0]
	}
	return s.cost < o.cost
}

// best tries every way to place the pods.
func (x scarce) best() score {
	type bin struct {
		way  int
		left [3]int64
	}
	ways := x.ways()
	var bins []bin
	var used [4]int64
	var best score
	taken := make([]int, len(x.types))
	fits := func(size, room [3]int64) bool { return size[0] <= room[0] && size[1] <= room[1] && size[2] <= room[2] }
	var try func(pod int, s score)
	try = func(pod int, s score) {
		hope := s
		for _, p := range x.pods[pod:] {
			hope.placed[p.priority]++
		}
		if !hope.better(best) {
			return
		}
		if pod == len(x.pods) {
			best = s
			return
		}
		p := x.pods[pod]
		with := s
		with.placed[p.priority]++
		for i := range bins {
			if fits(p.size, bins[i].left) {
				before := bins[i].left
				for d := range before {
					bins[i].left[d] -= p.size[d]
				}
				try(pod+1, with)
				bins[i].left = before
			}
		}
		for i, w := range ways {
			of, before, over := w.types[0], used, false
			for d, n := range w.counts {
				used[d] += n
				over = over || n > 0 && x.limits[d] > 0 && used[d] > x.limits[d]
			}
			if !over && fits(p.size, w.holds) && (!w.reserved || taken[of] < x.types[of].reserved) {
				if w.reserved {
					taken[of]++
				}
				b := bin{i, w.holds}
				for d := range b.left {
					b.left[d] -= p.size[d]
				}
				bins = append(bins, b)
				next := with
				next.cost += w.price
				try(pod+1, next)
				bins = bins[:len(bins)-1]
				if w.reserved {
					taken[of]--
				}
			}
			used = before
		}
		try(pod+1, s) // without it
	}
	best.cost = 1 << 60
	best.placed[1] = -1
	try(0, score{})
	return best
}

// Where there may be too little for all, a plan is feasible, places no more than
// can be, and in most worlds as many pods of each priority as can be, for little
// more than they must cost. The numbers are what was measured: whether a limit is short
// is judged before anything is packed, and types that minValues asks for take more of
// it.
func TestStep_WithTooLittleForAllNextToEverythingThatCanBeTried(t *testing.T) {
	const worlds = 1000
	var short, high, dearer, total, exact int
	for seed := range uint64(worlds) {
		x := anyScarce(seed)
		w := x.world(t)
		out := w.step()
		checkSound(t, w.objects, out)
		got := score{cost: out.Plan.Cost}
		for _, l := range of[plan.Launch](out) {
			if len(l.Types) < x.least {
				t.Fatalf("seed %d: %d types, the pool asks for %d", seed, len(l.Types), x.least)
			}
			if !slices.IsSortedFunc(l.Types, func(a, b plan.Choice) int { return int(a.Price - b.Price) }) {
				t.Fatalf("seed %d: %v, want the cheapest first", seed, l.Types)
			}
			for _, id := range l.Pods {
				var i int
				if _, err := fmt.Sscanf(id, "default/pod%d", &i); err != nil {
					t.Fatal(err)
				}
				got.placed[x.pods[i].priority]++
			}
		}
		best := x.best()
		switch {
		case got.better(best):
			t.Fatalf("seed %d: %+v, and no plan is better than %+v\n%+v", seed, got, best, x)
		case got.placed != best.placed:
			short++
			if got.placed[1] != best.placed[1] {
				high++
			}
		case got.cost == best.cost:
			exact++
		case best.cost == 0:
			dearer++
		default:
			total += int((got.cost - best.cost) * 1000 / best.cost)
		}
		if len(x.pods) == best.placed[0]+best.placed[1] {
			for _, c := range out.Plan.Proofs {
				if c.Bound > best.cost {
					t.Fatalf("seed %d: bound %d, and %d is enough", seed, c.Bound, best.cost)
				}
			}
		}
	}
	t.Logf("%d worlds: %d short of pods, %d of them of the higher priority; %d exact, %d thousandths dearer on average, %d instead of nothing", worlds, short, high, exact, total/worlds, dearer)
	if short > 12 || high > 6 || total > 10*worlds || dearer > 3 {
		t.Error("worse than before")
	}
}
