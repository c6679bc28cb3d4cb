package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// decide is the Step of the case for a seed. What it proves is checked.
func decide(t *testing.T, c Case, seed uint64) (Base, []cluster.Pod, engine.Output) {
	t.Helper()
	base, err := c.Base()
	if err != nil {
		t.Fatal(err)
	}
	in, pods, err := c.Prepare(base, seed)
	if err != nil {
		t.Fatal(err)
	}
	out := engine.Step(in)
	if err := Prove(in, out); err != nil {
		t.Error(err)
	}
	return base, pods, out
}

func TestCases_EveryPodHasOneNodeThatHoldsItWhateverItsTypeAndTheBoundIsProven(t *testing.T) {
	t.Parallel()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			base, pods, out := decide(t, c, 1)
			homeless, requested := make(map[string]cluster.Pod, len(pods)), int64(0)
			for _, p := range pods {
				requested += p.Shape.Requests.MilliCPU
			}
			for _, p := range slices.Concat(base.objects.Pods, pods) {
				if p.Node == "" {
					homeless[p.ID()] = p
				}
			}
			place := func(on string, ids []string, free quantity.Resources) quantity.Resources {
				var need quantity.Resources
				for _, id := range ids {
					p, pending := homeless[id]
					if !pending {
						t.Fatalf("pod %s is unknown or has two nodes", id)
					}
					delete(homeless, id)
					need = need.Add(p.Shape.Requests)
				}
				if lacking := need.Lacking(free); len(lacking) > 0 {
					t.Fatalf("%s lacks %v", on, lacking)
				}
				return free.Sub(need)
			}
			free := freeOf(base)
			for _, o := range out.Plan.Outcomes {
				if o.Verdict == plan.OnNode {
					free[o.On] = place(o.On, o.Pods, free[o.On])
				}
			}
			types, launched := typesOf(base), map[string]int64{}
			for _, a := range out.Plan.Actions {
				l, ok := a.(plan.Launch)
				if !ok {
					continue
				}
				least, most := smallest(types, l.Types)
				place("launch "+l.Name, l.Pods, least.Sub(daemonsOf(base)))
				launched[l.Pool] += most
			}
			for pool, most := range launched {
				if c.Limit > 0 && most > requested*c.Limit/100 {
					t.Errorf("pool %s may come to have %d millicores", pool, most)
				}
			}
			if (len(homeless) > 0) != c.Required.Binds {
				t.Fatalf("%d pods have no node", len(homeless))
			}
		})
	}
}

func TestCases_ALimitThatDoesNotBindChangesNoFigure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"w1", "big", "mix"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, pods, without := decide(t, named(t, name), 1)
			_, _, with := decide(t, named(t, name+"-loose"), 1)
			if want, got := ReadOutput(pods, without), ReadOutput(pods, with); got.Cost != want.Cost || got.Bound != want.Bound || got.Nodes != want.Nodes {
				t.Errorf("with a limit %+v, without %+v", got, want)
			}
		})
	}
}

func typesOf(base Base) map[string]catalog.InstanceType {
	types := map[string]catalog.InstanceType{}
	for _, it := range base.Setting.Types {
		types[it.Name] = it
	}
	return types
}

func daemonsOf(base Base) (all quantity.Resources) {
	for _, d := range base.Setting.DaemonSets {
		all = all.Add(d.Shape.Requests)
	}
	return all
}

// freeOf is what the nodes that are there have left.
func freeOf(base Base) map[string]quantity.Resources {
	free := map[string]quantity.Resources{}
	for _, n := range base.objects.Nodes {
		free[n.Name] = n.Allocatable.Sub(daemonsOf(base))
	}
	for _, p := range base.objects.Pods {
		if p.Node != "" {
			free[p.Node] = free[p.Node].Sub(p.Shape.Requests)
		}
	}
	return free
}

// smallest is what any of the types has, and the most millicores of one.
func smallest(types map[string]catalog.InstanceType, of []plan.Choice) (least quantity.Resources, most int64) {
	for i, choice := range of {
		t := types[choice.Type]
		if i == 0 {
			least = t.Allocatable
		}
		least = least.Min(t.Allocatable)
		most = max(most, t.Capacity.MilliCPU)
	}
	return least, most
}

func TestMix_PodsThatExcludeEachOtherShareNoNodeAndThoseThatAttractShareAZone(t *testing.T) {
	t.Parallel()
	c := named(t, "mix")
	_, pods, out := decide(t, c, 2)
	labels := make(map[string]label.Labels, len(pods))
	for _, p := range pods {
		labels[p.ID()] = p.Labels
	}
	zoneOf := map[string]string{} // of the pods that attract each other
	for _, n := range Fleet(out.Plan) {
		exclusive := 0
		for _, id := range n.Pods {
			if _, ok := labels[id].Get("app"); ok {
				exclusive++
			}
			letter, attracts := labels[id].Get("my-affinity")
			if !attracts {
				continue
			}
			zones := strings.Join(n.Zones, " or ")
			if len(n.Zones) != 1 || zoneOf[letter] != "" && zoneOf[letter] != zones {
				t.Fatalf("pods with my-affinity=%s are in %s and in %s", letter, zoneOf[letter], zones)
			}
			zoneOf[letter] = zones
		}
		if exclusive > 1 {
			t.Fatalf("%d pods that exclude each other are on one node", exclusive)
		}
	}
	if len(zoneOf) != 7 {
		t.Fatalf("of the 7 sets of pods that attract each other %d are placed", len(zoneOf))
	}
}

// What Karpenter v1.14 meets on pods like these is 2 for each: the zone, and a
// node of its own.
func TestPreferences_AreMetAsFarAsTheyCanBe(t *testing.T) {
	t.Parallel()
	_, pods, out := decide(t, named(t, "preferences"), 1)
	if f := ReadOutput(pods, out); f.Satisfied < int64(2*len(pods)) {
		t.Fatalf("preferences of weight %d are met on %d nodes, of %d that can be", f.Satisfied, f.Nodes, 2*len(pods))
	}
}

func named(t *testing.T, name string) Case {
	t.Helper()
	for _, c := range Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %s", name)
	return Case{}
}
