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
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Who and what comes first: pools, types, pods and gangs, where several could.

func TestStep_APoolThatPrefersToBeLeftAloneIsTheLastResort(t *testing.T) {
	soft := cluster.Taint{Key: "soft", Effect: cluster.PreferNoSchedule}
	for name, c := range map[string]struct {
		tolerates, ignore bool
		want              string
	}{
		"not tolerated": {want: "other"},
		"tolerated":     {tolerates: true, want: "soft"},
		"ignored":       {ignore: true, want: "soft"},
	} {
		w := newWorld(t)
		w.objects.Pools = nil
		w.policy.IgnorePreferences = c.ignore
		w.pool(cluster.Pool{Name: "soft", Weight: 10, Taints: []cluster.Taint{soft}}).pool(cluster.Pool{Name: "other", Limits: []quantity.Amount{{Name: "nodes", Count: 1}}})
		w.pods("web", 3, 1000, func(p *cluster.Pod) {
			if c.tolerates {
				p.Shape.Tolerations = []cluster.Toleration{{Key: "soft", Exists: true}}
			}
		})
		first := w.step()
		launches := of[plan.Launch](first)
		if len(launches) != 1 || launches[0].Pool != c.want {
			t.Errorf("%s: launches %+v, want one from the pool %s", name, launches, c.want)
			continue
		}
		if c.want == "soft" {
			continue
		}
		// The other pool is full: now the taint is given up, and the outcome says so.
		w.order(launches).pods("more", 1, 3000)
		w.now = w.now.Add(2 * time.Second)
		out := w.step()
		if more := of[plan.Launch](out); len(more) != 1 || more[0].Pool != "soft" {
			t.Errorf("where there is nothing else: %+v", more)
		}
		if !slices.ContainsFunc(out.Plan.Outcomes, func(o plan.Outcome) bool {
			return slices.Contains(o.Dropped, "taints with the effect PreferNoSchedule")
		}) {
			t.Errorf("no outcome says that the taint was given up: %+v", out.Plan.Outcomes)
		}
	}
}

// So it is with nodes that run.
func TestStep_ANodeThatPrefersToBeLeftAloneIsNotFilledWhileThereIsAnotherPlace(t *testing.T) {
	w := newWorld(t).pods("web", 1, 2000).running()
	w.objects.Pools[0].Taints = []cluster.Taint{{Key: "soft", Effect: cluster.PreferNoSchedule}}
	w.pool(cluster.Pool{Name: "other"})
	w.objects.Nodes[0].Taints = w.objects.Pools[0].Taints
	out := w.pods("more", 1, 500).step()
	if launches := of[plan.Launch](out); len(launches) != 1 || launches[0].Pool != "other" {
		t.Errorf("launches = %+v, want one from the other pool", launches)
	}
}

func TestStep_ANodeLargerThanTheSoftSizeLimitIsLaunchedOnlyForAPodThatNeedsIt(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = append(w.objects.Classes[0].Types, instanceType("z.huge", 64, 128, 1_000_000)) // all but free
	if got := typed(of[plan.Launch](w.pods("web", 4, 900).step())); slices.Contains(got, "z.huge") {
		t.Errorf("for small pods: %q", got)
	}
	if got := typed(of[plan.Launch](newWorldOf(t, w).pods("large", 1, 40_000).step())); !slices.Equal(got, []string{"z.huge"}) {
		t.Errorf("for a pod that needs it: %q", got)
	}
}

func newWorldOf(t *testing.T, w *world) *world {
	t.Helper()
	x := newWorld(t)
	x.objects.Classes = w.objects.Classes
	return x
}

// Free room is given to the more important pods, though others fit it better.
func TestStep_TheMoreImportantPodsTakeTheRoomThatThereIs(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
	w.pods("web", 1, 3000).running()
	w.pods("low", 1, 500).pods("high", 1, 900, func(p *cluster.Pod) { p.Shape.Priority = 10 })
	for _, o := range w.step().Plan.Outcomes {
		if want := map[bool]plan.Verdict{true: plan.OnNode, false: plan.Unplaceable}[o.Pods[0] == "default/high-00"]; o.Pods[0] != "default/web-00" && o.Verdict != want {
			t.Errorf("%v: %s, want %s", o.Pods, o.Verdict, want)
		}
	}
}

// Of gangs that find no room together the least important one gives way.
func TestStep_TheLeastImportantGangGivesWay(t *testing.T) {
	for _, important := range []string{"a", "b"} {
		w := newWorld(t)
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 3}}
		for _, name := range []string{"a", "b"} {
			w.pods(name, 2, 3000, func(p *cluster.Pod) {
				p.Shape.Gang = cluster.Gang{Name: name, Size: 2}
				if name == important {
					p.Shape.Priority = 10
				}
			})
		}
		var placed []string
		for _, l := range of[plan.Launch](w.step()) {
			placed = append(placed, l.Pods...)
		}
		slices.Sort(placed)
		if want := []string{"default/" + important + "-00", "default/" + important + "-01"}; !slices.Equal(placed, want) {
			t.Errorf("placed %q, want %q", placed, want)
		}
	}
}

// A slip of the keyboard orders no thousand machines, and a controller that makes
// a little progress now and then is not waited for without end.
func TestStep_DeclaredReplicasCountUpToANumberAndForATime(t *testing.T) {
	w := newWorld(t)
	w.objects.Workloads = []cluster.Workload{{
		UID: "u", Kind: "ReplicaSet", Namespace: "n", Name: "d", Missing: 2_000_000, Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1, PodSlots: 1}},
	}}
	if out := w.step(); out.Trace.Declared != 5000 {
		t.Errorf("%d of two million declared pods count, want 5,000", out.Trace.Declared)
	}
	for end := start.Add(10 * w.policy.DeclaredPatience); w.now.Before(end); w.now = w.now.Add(20 * time.Second) {
		w.objects.Workloads[0].Missing--
		if out := w.step(); out.Trace.Declared == 0 {
			t.Fatalf("given up after %v", w.now.Sub(start))
		}
	}
	w.objects.Workloads[0].Missing--
	if out := w.step(); out.Trace.Declared != 0 {
		t.Errorf("after %v %d still count", w.now.Sub(start), out.Trace.Declared)
	}
}

// A node that starts may lack labels that its NodeClaim promises: the pods that
// select by them keep their place.
func TestStep_ANodeThatStartsHasWhatItsNodeClaimPromises(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Labels = label.FromMap(map[string]string{"team": "a"})
	w.pods("web", 2, 900, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("team", "a")) })
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	n := &w.objects.Nodes[0]
	n.Labels, n.Ready, n.Allocatable = label.FromMap(map[string]string{label.Hostname: n.Name}), false, quantity.Resources{}
	n.Taints = append(n.Taints, cluster.Taint{Key: "node.kubernetes.io/not-ready", Effect: cluster.NoSchedule})
	w.memory = engine.Memory{}
	if again := of[plan.Launch](w.step()); len(again) != 0 {
		t.Errorf("launched again: %+v", again)
	}
}

// Volumes take slots of the node: no more than its driver has named, on nodes
// that run as on new ones, of which the most that any node has is expected.
func TestStep_NoNodeIsPlannedForMoreVolumesThanItAttaches(t *testing.T) {
	disk := cluster.AttachSlots("ebs.csi.aws.com")
	db := func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(disk, 2) }
	w := newWorld(t).pods("web", 1, 1000).running()
	w.objects.Nodes[0].Allocatable = w.objects.Nodes[0].Allocatable.Extend(disk, 5)
	w.now = w.now.Add(2 * time.Second)
	out := w.pods("db", 7, 100, db).step()
	if n := len(of[plan.Nominate](out)); n != 2 {
		t.Errorf("%d pods with 2 volumes each on a node for 5, want 2", n)
	}
	for _, l := range of[plan.Launch](out) {
		if len(l.Pods) > 2 {
			t.Errorf("a new node for %d of them", len(l.Pods))
		}
	}
	if n := launchedFor(out); n != 5 {
		t.Errorf("launched for %d, want the 5 others", n)
	}
	unknown := newWorld(t).pods("db", 3, 100, db)
	if launches := of[plan.Launch](unknown.step()); len(launches) != 1 {
		t.Errorf("where no driver has named a limit: %d launches, want 1", len(launches))
	}
}

// A reservation that NodeClaims on their way will use up is not given out again.
func TestStep_AReservationIsNotGivenOutTwice(t *testing.T) {
	w := newWorld(t).pods("web", 1, 3000)
	w.objects.Classes[0].Types[1].Offerings = append(w.objects.Classes[0].Types[1].Offerings, catalog.Offering{
		Zone: "a", CapacityType: label.Reserved, Reservation: "cr", Available: true, Left: 1,
	})
	first := of[plan.Launch](w.step())
	if len(first) != 1 || first[0].Reservation != "cr" {
		t.Fatalf("launches = %+v, want the reserved instance", first)
	}
	w.order(first).pods("more", 1, 3000)
	w.now = w.now.Add(2 * time.Second)
	if more := of[plan.Launch](w.step()); len(more) != 1 || more[0].Reservation != "" {
		t.Errorf("launches = %+v, want one outside the reservation", more)
	}
}

// EC2's number of instances left is as old as its answer: those launched since
// are in it, too, until the next.
func TestStep_LaunchedInstancesCountUntilTheReservationsNumberIsNewer(t *testing.T) {
	w := newWorld(t).pods("web", 1, 3000)
	w.objects.Classes[0].Types[1].Offerings = append(w.objects.Classes[0].Types[1].Offerings, catalog.Offering{
		Zone: "a", CapacityType: label.Reserved, Reservation: "cr", Available: true, Left: 1, Counted: w.now,
	})
	w.running()
	c := &w.objects.Claims[0]
	if c.Reservation != "cr" || !c.Launched || !c.Initialized {
		t.Fatalf("%+v, want a node that runs in the reservation", c)
	}
	c.LaunchedAt = w.now.Add(time.Second)
	w.pods("more", 1, 3000)
	if more := of[plan.Launch](w.step()); len(more) != 1 || more[0].Reservation != "" {
		t.Errorf("launches = %+v, want one outside the reservation", more)
	}
	offers := w.objects.Classes[0].Types[1].Offerings
	offers[len(offers)-1].Counted = c.LaunchedAt
	if more := of[plan.Launch](w.step()); len(more) != 1 || more[0].Reservation != "cr" {
		t.Errorf("counted again: launches = %+v, want one in the reservation", more)
	}
}

// That one reservation is full says nothing about another of the same type.
func TestStep_OneFullReservationIsPutAsideAndNotTheOthers(t *testing.T) {
	w := newWorld(t).pods("web", 1, 3000)
	for _, id := range []string{"cr-1", "cr-2"} {
		w.objects.Classes[0].Types[1].Offerings = append(w.objects.Classes[0].Types[1].Offerings, catalog.Offering{
			Zone: "a", CapacityType: label.Reserved, Reservation: id, Available: true, Left: 1,
		})
	}
	full := catalog.OfferingKey{CapacityType: label.Reserved, InstanceType: w.objects.Classes[0].Types[1].Name, Zone: "a", Reservation: "cr-1"}
	w.memory = unavailable(w.memory, w.now.Add(time.Minute), full)
	if launches := of[plan.Launch](w.step()); len(launches) != 1 || launches[0].Reservation != "cr-2" {
		t.Errorf("launches = %+v, want the other reservation", launches)
	}
	full.Reservation = "cr-2"
	w.memory = unavailable(w.memory, w.now.Add(time.Minute), full)
	if launches := of[plan.Launch](w.step()); len(launches) != 1 || launches[0].Reservation != "" {
		t.Errorf("launches = %+v, want none in a reservation", launches)
	}
}

// Reserved nodes have labels of their own, by which pods ask for them or refuse
// them.
func TestStep_PodsChooseReservationsByLabel(t *testing.T) {
	absent, err := label.NewRequirement(label.Reservation, label.DoesNotExist)
	if err != nil {
		t.Fatal(err)
	}
	for want, asks := range map[string]label.Requirement{
		"cr-2": label.Is(label.Reservation, "cr-2"), "cr-1": label.Is(label.ReservationType, "default"), "": absent,
	} {
		w := newWorld(t).pods("web", 1, 3000, func(p *cluster.Pod) { p.Shape.Selector = label.All(asks) })
		for _, id := range []string{"cr-1", "cr-2"} {
			w.objects.Classes[0].Types[1].Offerings = append(w.objects.Classes[0].Types[1].Offerings, catalog.Offering{
				Zone: "a", CapacityType: label.Reserved, Reservation: id, Available: true, Left: 1,
			})
		}
		if launches := of[plan.Launch](w.step()); len(launches) != 1 || launches[0].Reservation != want {
			t.Errorf("%v: launches = %+v, want reservation %q", asks, launches, want)
		}
	}
}

// A reservation is of one type. It does not keep a pool that wants several from
// launching.
func TestStep_AReservationDoesNotStandInTheWayOfMinValues(t *testing.T) {
	s := &scenario{world: newWorld(t).pods("web", 3, 3000)}
	s.reserve("m5.xlarge", 2)
	s.objects.Pools[0].MinValues = []cluster.MinValues{{Key: label.InstanceType, Count: 2}}
	out := s.step()
	if n := launchedFor(out); n != 3 {
		t.Errorf("launched for %d of 3 pods: %+v", n, out.Plan.Outcomes)
	}
	for _, l := range of[plan.Launch](out) {
		if l.Reservation != "" || len(l.Types) < 2 {
			t.Errorf("%s of %v, reservation %q", l.Name, l.Types, l.Reservation)
		}
	}
}

// Limits count what the instances have, not what is left of it for pods, also
// while the class that knows the types is not ready.
func TestStep_LimitsCountTheCapacityOfNodesWhoseClassIsNotReady(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes = append(w.objects.Classes, cluster.Class{Name: "broken"})
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 8000}}
	w.objects.Claims = []cluster.Claim{{
		Name: "c", Pool: "general", Class: "broken", InstanceType: "m5.xlarge", Launched: true,
		Capacity: quantity.Resources{MilliCPU: 4000}, Allocatable: quantity.Resources{MilliCPU: 3900}, Created: w.now,
	}}
	w.pods("web", 2, 3000)
	if launches := of[plan.Launch](w.step()); len(launches) != 1 {
		t.Errorf("%d launches within 8000m, want 1 beside the 4000m there are", len(launches))
	}
	w.objects.Pools[0].Limits[0].Count = 7999
	w.memory = engine.Memory{}
	if launches := of[plan.Launch](w.step()); len(launches) != 0 {
		t.Errorf("launches = %+v: 4000m more exceed 7999m", launches)
	}
}

// A NodeClaim on its way, and a node that has none of its DaemonSet pods yet, keep
// room for these.
func TestStep_NobodyTakesTheRoomOfDaemonSetPodsToCome(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1000)
	w.objects.DaemonSets = []cluster.DaemonSet{{Namespace: "n", Name: "d", UID: "d", Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 500, PodSlots: 1}, Tolerations: []cluster.Toleration{{Exists: true}},
	}}}
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	node := w.objects.Nodes[0]
	// Of a c5.large's 1900m, 400 are left.
	for _, stage := range []string{"launched", "kept", "open"} {
		x := newWorldOf(t, w)
		x.objects.DaemonSets = w.objects.DaemonSets
		x.objects.Pods = slices.Clone(w.objects.Pods)
		x.objects.Claims, x.objects.Nodes = slices.Clone(w.objects.Claims), []cluster.Node{node}
		switch stage {
		case "launched":
			x.objects.Nodes, x.objects.Claims[0].Registered, x.objects.Claims[0].Node = nil, false, ""
		case "open":
			x.objects.Nodes[0].Taints, x.objects.Claims[0].Initialized, x.objects.Pods[0].Node = nil, true, node.Name
		}
		for milliCPU, want := range map[int64]int{400: 0, 401: 1} {
			y := *x
			y.objects.Pods = slices.Clone(x.objects.Pods)
			if got := launchedFor(y.pods("more", 1, milliCPU).step()); got != want {
				t.Errorf("%s: launched for %d pods of %dm, want %d", stage, got, milliCPU, want)
			}
		}
	}
}
