package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// together makes pods of one label that must all be in one domain of the key.
func together(key string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Labels, p.Owner = label.FromMap(map[string]string{"app": "pair"}), cluster.Owner{Kind: "StatefulSet", Name: "pair", UID: "pair"}
		p.Shape.PodAffinity = []cluster.PodTerm{term(key, 0, "pair")}
	}
}

func volumeIn(zone string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Shape.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, zone))}}
	}
}

func in(key, value string) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(key, value)) }
}

// homeless counts the pods that the plan leaves without a place.
func homeless(out engine.Output) int { return verdicts(out)[plan.Unplaceable] }

// The first pod of a group with affinity decides the domain for all of them. Whoever comes
// first, it is placed where the one with the least choice can run.
func TestStep_PodsThatMustMeetGoWhereAllOfThemCanRun(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		tied func(*cluster.Pod)
		with func(*world)
	}{
		"a volume":                        {label.Zone, volumeIn("b"), nil},
		"a selector":                      {label.Zone, in(label.Zone, "b"), nil},
		"a type that is sold in one zone": {label.Zone, in(label.InstanceType, "m5.xlarge"), func(w *world) { w.soldIn("m5.xlarge", "b") }},
		"a size that is sold in one zone": {label.Zone, func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = 12 << 30 }, func(w *world) { w.soldIn("m5.xlarge", "b") }},
		"a label that a pool gives": {"rack", in("rack", "r2"), func(w *world) {
			w.objects.Pools[0].Labels = label.FromMap(map[string]string{"rack": "r1"})
			w.pool(cluster.Pool{Name: "second", Labels: label.FromMap(map[string]string{"rack": "r2"})})
		}},
		"a capacity type": {label.CapacityType, in(label.CapacityType, label.Spot), func(w *world) {
			w.pool(cluster.Pool{Name: "spot", Requirements: require(t, label.CapacityType, label.In, label.Spot)})
		}},
	} {
		for _, free := range []int64{100, 900} { // smaller and larger than the one that is tied
			w := newWorld(t)
			if c.with != nil {
				c.with(w)
			}
			w.pods("free", 3, free, together(c.key)).pods("tied", 1, 400, together(c.key), c.tied)
			out := w.step()
			if homeless(out) > 0 || launchedFor(out) != 4 {
				t.Errorf("%s, %dm: %d of 4 pods get nodes, %d have no place", name, free, launchedFor(out), homeless(out))
			}
		}
	}
}

// Room on a node that runs is no reason to be placed where the others cannot follow.
func TestStep_PodsThatMustMeetLeaveRoomWhereTheOthersCannotFollow(t *testing.T) {
	w := newWorld(t).pods("hold", 1, 300, in(label.Zone, "b")).running()
	w.now = w.now.Add(time.Minute)
	w.pods("free", 1, 500, together(label.Zone)).pods("tied", 1, 400, together(label.Zone), volumeIn("a"))
	w.step()
	w.now = w.now.Add(2 * time.Second)
	out := w.step()
	if l := of[plan.Launch](out); homeless(out) > 0 || len(l) != 1 || len(l[0].Pods) != 2 || !slices.Equal(l[0].Zones, []string{"a"}) {
		t.Errorf("launches %v, %d without a place; want one node in a for both", l, homeless(out))
	}
}

// A node of somebody else, in a zone in which no pool launches, is the only place for one
// of them: the others are placed there, too.
func TestStep_PodsThatMustMeetUseRoomThatNoPoolCouldLaunch(t *testing.T) {
	w := newWorld(t).runningNode("theirs", 8, 32, 0)
	w.objects.Nodes[0].Labels = w.objects.Nodes[0].Labels.With(label.Zone, "c")
	w.pods("free", 1, 500, together(label.Zone)).pods("tied", 1, 400, together(label.Zone), volumeIn("c"))
	out := w.step()
	if homeless(out) > 0 || len(of[plan.Launch](out)) > 0 {
		t.Errorf("%d have no place, %d launches", homeless(out), len(of[plan.Launch](out)))
	}
}

// Pods that may only follow the group have a say, too, and so do those that follow them.
func TestStep_WhoOnlyFollowsPodsThatMeetIsAmongThem(t *testing.T) {
	follows := func(of, as string) func(*cluster.Pod) {
		return func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": as})
			p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, of)}
		}
	}
	w := newWorld(t).pods("free", 2, 900, together(label.Zone))
	w.pods("second", 1, 200, follows("pair", "second")).pods("third", 1, 200, follows("second", "third"), volumeIn("b"))
	out := w.step()
	if homeless(out) > 0 || launchedFor(out) != 4 {
		t.Errorf("%d of 4 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}

// Where nothing suits all of them, whoever can run does.
func TestStep_PodsThatCannotMeetRunAsFarAsTheyCan(t *testing.T) {
	w := newWorld(t).pods("free", 2, 900, together(label.Zone))
	w.pods("left", 1, 400, together(label.Zone), volumeIn("a")).pods("right", 1, 300, together(label.Zone), volumeIn("b"))
	out := w.step()
	if homeless(out) != 1 || launchedFor(out) != 3 {
		t.Errorf("%d of 3 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}

// When the node is deleted on which all of them run, they meet anew.
func TestStep_PodsThatMustMeetMoveTogether(t *testing.T) {
	w := newWorld(t).pods("tied", 1, 400, together(label.Zone), volumeIn("a")).running()
	w.pods("free", 1, 500, together(label.Zone)).running()
	w.pods("hold", 1, 300, in(label.Zone, "b")).running()
	w.objects.Claims[0].Deleting = true
	out := w.step()
	if l := of[plan.Launch](out); homeless(out) > 0 || len(l) != 1 || !slices.Equal(l[0].Zones, []string{"a"}) {
		t.Errorf("launches %v, %d without a place; want one node in a for both", l, homeless(out))
	}
}

// soldIn leaves one zone in which the type is sold.
func (w *world) soldIn(instanceType, zone string) {
	for i := range w.objects.Classes[0].Types {
		if x := &w.objects.Classes[0].Types[i]; x.Name == instanceType {
			for k := range x.Offerings {
				x.Offerings[k].Available = x.Offerings[k].Zone == zone
			}
		}
	}
}

// A pool at its limits is no place for anybody.
func TestStep_PodsThatMustMeetDoNotWaitForAPoolAtItsLimits(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(label.All(label.Is(label.Zone, "a")))
	w.limit("cpu", 1)
	w.pool(cluster.Pool{Name: "second", Requirements: label.All(label.Is(label.Zone, "b"))})
	w.pods("free", 3, 500, together(label.Zone)).pods("tied", 1, 400, together(label.Zone), volumeIn("a"))
	out := w.step()
	if homeless(out) != 1 || launchedFor(out) != 3 {
		t.Errorf("%d of 3 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}

// A shortage passes, and what has begun elsewhere stays there.
func TestStep_PodsThatMustMeetDoNotFleeFromAShortage(t *testing.T) {
	w := newWorld(t)
	var out []catalog.OfferingKey
	for _, x := range w.objects.Classes[0].Types {
		out = append(out, catalog.OfferingKey{CapacityType: label.OnDemand, InstanceType: x.Name, Zone: "a"})
	}
	w.memory = unavailable(w.memory, w.now.Add(time.Minute), out...)
	w.pods("free", 3, 500, together(label.Zone)).pods("tied", 1, 400, together(label.Zone), volumeIn("a"))
	for _, l := range of[plan.Launch](w.step()) {
		if slices.Contains(l.Zones, "b") {
			t.Errorf("%v begin in %v", l.Pods, l.Zones)
		}
	}
}

// Nobody is tied to one domain, and only one suits all.
func TestStep_PodsThatMustMeetFindTheDomainThatTheyHaveInCommon(t *testing.T) {
	w := newWorld(t)
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		third := x.Offerings[0]
		third.Zone = "c"
		x.Offerings = append(x.Offerings, third)
	}
	w.pods("one", 1, 900, together(label.Zone), asks(require(t, label.Zone, label.In, "a", "b")))
	w.pods("two", 1, 400, together(label.Zone), asks(require(t, label.Zone, label.In, "b", "c")))
	w.pods("three", 1, 300, together(label.Zone), asks(require(t, label.Zone, label.NotIn, "a")))
	out := w.step()
	checkSound(t, w.objects, out)
	if homeless(out) > 0 || launchedFor(out) != 3 {
		t.Errorf("%d of 3 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}

func TestStep_PodsThatMustShareANodeGetOneThatSuitsAll(t *testing.T) {
	for name, tied := range map[string]func(*cluster.Pod){"a type": in(label.InstanceType, "m5.xlarge"), "a volume": volumeIn("b")} {
		w := newWorld(t).pods("free", 2, 300, together(label.Hostname)).pods("tied", 1, 200, together(label.Hostname), tied)
		out := w.step()
		checkSound(t, w.objects, out)
		if l := of[plan.Launch](out); homeless(out) > 0 || len(l) != 1 || len(l[0].Pods) != 3 {
			t.Errorf("%s: %d launches, %d without a place", name, len(l), homeless(out))
		}
	}
}

// Each pod of a group must be where the others are by zone and by capacity type.
func TestStep_PodsThatMustMeetInTwoWaysGoWhereBothAreMet(t *testing.T) {
	w := newWorld(t).pool(cluster.Pool{Name: "spot", Requirements: require(t, label.CapacityType, label.In, label.Spot)})
	both := func(p *cluster.Pod) {
		together(label.Zone)(p)
		p.Shape.PodAffinity = append(p.Shape.PodAffinity, term(label.CapacityType, 0, "pair"))
	}
	w.pods("free", 2, 900, both).pods("tied", 1, 400, both, volumeIn("b")).pods("spot", 1, 300, both, in(label.CapacityType, label.Spot))
	out := w.step()
	checkSound(t, w.objects, out)
	for _, l := range of[plan.Launch](out) {
		if l.CapacityType != label.Spot || !slices.Equal(l.Zones, []string{"b"}) {
			t.Errorf("%v on %s in %v", l.Pods, l.CapacityType, l.Zones)
		}
	}
	if homeless(out) > 0 || launchedFor(out) != 4 {
		t.Errorf("%d of 4 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}
