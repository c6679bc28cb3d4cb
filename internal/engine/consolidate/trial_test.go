package consolidate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// drawnFleet is a question about nodes of two sizes and two ratios, each with some pods.
func drawnFleet(t *rapid.T) Question {
	var o cluster.Objects
	q := Question{MinSaving: 1, PerPod: 1, Seed: rapid.Uint64().Draw(t, "seed"), Trials: 40, Alike: rapid.Bool().Draw(t, "alike")}
	var may []bool
	for i := range rapid.IntRange(2, 10).Draw(t, "nodes") {
		cpu := int64(rapid.SampledFrom([]int{4000, 8000}).Draw(t, "cpu"))
		name := fmt.Sprintf("n%02d", i)
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, UID: name, Ready: true, Allocatable: quantity.Resources{
			MilliCPU: cpu, MemoryBytes: cpu * int64(rapid.SampledFrom([]int{4, 8}).Draw(t, "ratio")) << 30 / 1000, EphemeralBytes: 1 << 40, PodSlots: 100,
		}})
		may = append(may, rapid.IntRange(0, 4).Draw(t, "may") > 0)
		for k := range rapid.IntRange(0, 3).Draw(t, "pods") {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			o.Pods = append(o.Pods, cluster.Pod{
				Namespace: "default", Name: fmt.Sprint(name, "-", k), UID: fmt.Sprint(name, "-", k), Node: name,
				Owner: cluster.Owner{Kind: "ReplicaSet", Name: fmt.Sprint("web", kind)},
				Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 300 * int64(kind+1), MemoryBytes: int64(4-kind) << 30, PodSlots: 1}},
			})
		}
	}
	q.Nodes = nodesOf(t, o)
	for i := range q.Nodes {
		q.Nodes[i].Price, q.Nodes[i].Deletable = quantity.Money(q.Nodes[i].State.Node.Allocatable.MilliCPU), may[i]
	}
	return q
}

// nodesOf returns the nodes of the objects, all at one price, and all of which may be
// deleted.
func nodesOf(t interface{ Fatal(args ...any) }, o cluster.Objects) (out []Node) {
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for state := range s.States() {
		out = append(out, Node{
			State: state, Claim: state.Node.Name, Free: state.Free, Price: quantity.NanoDollars, Deletable: true,
		})
	}
	return out
}

// result returns what the search has found at its end.
func result(s *Search) []string {
	for finished := false; !finished; {
		s, finished = s.Advance(1000)
	}
	return s.Result()
}

// Whatever is tried, each pod of a deleted node is on a node that stays, with room for
// it, and no other pod has moved.
func TestSearch_EveryPodOfANodeThatWentHasAPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := drawnFleet(t)
		s, finished := Begin(q), false
		for !finished {
			s, finished = s.Advance(rapid.IntRange(1, 500).Draw(t, "work"))
			guests, gone := map[int]int64{}, map[int]int64{}
			for i := range s.nodes {
				n := &s.nodes[i]
				if n.removed && (!q.Nodes[i].Deletable || len(n.guests) > 0) {
					t.Fatalf("node %d went, with %v", i, n.guests)
				}
				free := s.vector(n.Free)
				for _, p := range n.guests {
					guests[p.class] += p.n
					free.add(&s.classes[p.class].need, -p.n)
					if o := s.classes[p.class].origin; q.Alike && o.ratio != n.ratio {
						t.Fatalf("pods of ratio %d on a node of ratio %d", o.ratio, n.ratio)
					}
				}
				if free != n.free || slices.ContainsFunc(free[:], func(x int64) bool { return x < 0 }) {
					t.Fatalf("node %d has %v free, want %v", i, n.free, free)
				}
				for _, p := range n.own {
					if n.removed {
						gone[p.class] += p.n
					}
				}
			}
			if !reflect.DeepEqual(guests, gone) {
				t.Fatalf("pods %v went, and %v have places", gone, guests)
			}
		}
	})
}

func TestSearch_ATrialThatDoesNotPayLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := drawnFleet(t)
		q.PerPod = 1 << 40 // no pod is worth moving
		s := Begin(q)
		if len(s.order) == 0 {
			return
		}
		before := s.clone()
		for k := range uint64(20) {
			if s.trial(k) && slices.ContainsFunc(s.nodes, func(n node) bool { return n.removed && n.pods > 0 }) {
				t.Fatal("a pod moves that is not worth it")
			}
		}
		for i := range s.nodes {
			n, was := s.nodes[i], before.nodes[i]
			if n.pods == 0 {
				continue // an empty node costs nothing to move
			}
			if n.removed != was.removed || n.free != was.free || len(n.guests) != len(was.guests) {
				t.Fatalf("node %d is %+v, was %+v", i, n, was)
			}
		}
	})
}

// Two nodes that are half empty have different ratios. Their pods fit on one of them, but
// for the rule that they do not mix.
func TestSearch_MixesRatiosOnlyWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	q := Question{Nodes: halfEmpty(t, 16, 32), MinSaving: 1, Alike: true, Trials: 10}
	if gone := result(Begin(q)); len(gone) != 0 {
		t.Errorf("alike: %v go", gone)
	}
	q.Alike = false
	if gone := result(Begin(q)); len(gone) != 1 {
		t.Errorf("anywhere: %v go, want one", gone)
	}
}

// halfEmpty is nodes with so many GiB, each with a pod, any two of which fit on one node.
func halfEmpty(t *testing.T, gib ...int64) []Node {
	t.Helper()
	var o cluster.Objects
	for i, gib := range gib {
		name := fmt.Sprint("n", i)
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, UID: name, Ready: true, Allocatable: quantity.Resources{MilliCPU: 4000, MemoryBytes: gib << 30, EphemeralBytes: 1 << 40, PodSlots: 100}})
		o.Pods = append(o.Pods, cluster.Pod{
			Namespace: "default", Name: name, UID: name, Node: name, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web"},
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, MemoryBytes: 1 << 30, PodSlots: 1}},
		})
	}
	return nodesOf(t, o)
}

func TestRatio_IsTheRoundedLogarithmOfTheMemoryOfACore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ milliCPU, mib, want int64 }{
		{1930, 3 << 10, 11}, {31_850, 121 << 10, 12}, {31_850, 245 << 10, 13}, {1000, 2896, 11}, {1000, 2897, 12}, {0, 0, 0},
	} {
		n := cluster.Node{Allocatable: quantity.Resources{MilliCPU: c.milliCPU, MemoryBytes: c.mib << 20}}
		if got := Ratio(&n); int64(got) != c.want {
			t.Errorf("%dm and %d MiB: %d, want %d", c.milliCPU, c.mib, got, c.want)
		}
	}
}

// What could be saved is asked before the search: no more pods than run on nodes that have a
// price, and none where every node must stay.
func TestCouldSave_CountsPodsOfNodesThatHaveAPriceAndMayGo(t *testing.T) {
	t.Parallel()
	q := Question{Nodes: halfEmpty(t, 16, 32), MinSaving: 1, Trials: 10}
	if got := PricesOf(q).CouldSave(); got != 2 {
		t.Errorf("without a bound: %d pods, want both", got)
	}
	for i := range q.Nodes {
		q.Nodes[i].Deletable = i == 0
	}
	if got := PricesOf(q).CouldSave(); got != 1 {
		t.Errorf("where one node must stay: %d pods, want one", got)
	}
	for i := range q.Nodes {
		q.Nodes[i].Deletable = false
	}
	if got := PricesOf(q).CouldSave(); got != 0 {
		t.Errorf("where all nodes must stay: %d pods", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		q, most := drawnFleet(t), int64(0)
		for i := range q.Nodes {
			if q.Nodes[i].Price > 0 {
				for _, n := range q.Nodes[i].State.Moving() {
					most += n
				}
			}
		}
		if got := PricesOf(q).CouldSave(); got < 0 || got > most {
			t.Fatalf("%d pods of %d could be saved", got, most)
		}
	})
}

// Where no offer says what CPU and memory cost, pods are worth what they are at EC2's bulk
// prices, whether nothing is offered or nothing that has a price.
func TestWorth_IsAtBulkPricesWhereNoOfferSaysThem(t *testing.T) {
	t.Parallel()
	want := price.Bulk(quantity.Resources{MilliCPU: 1000, MemoryBytes: 1 << 30})
	for name, fleet := range map[string]*offer.Fleet{"nothing": nil, "nothing with a price": {}} {
		s := Begin(Question{Nodes: halfEmpty(t, 16, 32), Fleet: fleet, Trials: 10, MoveTime: time.Hour})
		if s.classes[0].worth != want || int64(s.Moving) != want {
			t.Errorf("%s: a pod of a core and a GiB is worth %d, and costs %d to move for an hour; want %d", name, s.classes[0].worth, s.Moving, want)
		}
		if s.priceFrom(0); s.classes[0].worth != want {
			t.Errorf("%s: at the prices of the search it is worth %d, want %d", name, s.classes[0].worth, want)
		}
	}
}
