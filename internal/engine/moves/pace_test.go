package moves

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
)

// paced is a fleet whose pods come and go, and the pace of its searches.
type paced struct {
	t     *testing.T
	pace  pace
	fleet cluster.Objects
	now   time.Time
}

var paceStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPaced(t *testing.T) *paced {
	t.Helper()
	return &paced{t: t, now: paceStart, fleet: cluster.Objects{
		Nodes: []cluster.Node{{Name: "n", UID: "n", Ready: true}},
		Pools: []cluster.Pool{{Name: "general", UID: "general", Ready: true}, {Name: "static", UID: "static", Ready: true, Static: true, Replicas: 1}},
	}}
}

// runs sets how many pods run, after some time.
func (p *paced) runs(after time.Duration, pods int) *paced {
	p.t.Helper()
	p.fleet.Pods = nil
	for i := range pods {
		name := fmt.Sprintf("p%04d", i)
		p.fleet.Pods = append(p.fleet.Pods, cluster.Pod{Namespace: "default", Name: name, UID: name, Node: "n"})
	}
	s, err := cluster.New(p.fleet)
	if err != nil {
		p.t.Fatal(err)
	}
	p.now = p.now.Add(after)
	p.pace.sees(s, p.now)
	return p
}

// everyday is a fleet of 1,000 pods long after the daemon started; a target was just found.
func everyday(t *testing.T) *paced {
	t.Helper()
	p := newPaced(t).runs(0, 1000)
	p.pace.begins(p.now)
	p.runs(paceFor, 1000).pace.begins(p.now)
	return p
}

func TestPace_AfterATargetTheFleetIsSearchedAgainIn20MinutesOrWhenThreePodsInAHundredHaveGone(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		pods  int
		held  bool
	}{
		{time.Minute, 1000, true},
		{time.Minute, 1100, true}, // pods that come save nothing
		{time.Minute, 970, true},
		{time.Minute, 969, false},
		{paceFor - time.Second, 1000, true},
		{paceFor, 1000, false},
	} {
		p := everyday(t)
		found := p.now
		p.runs(c.after, c.pods)
		until, held := p.pace.held(p.now)
		if held != c.held || held && !until.Equal(found.Add(paceFor)) || !held && !until.IsZero() {
			t.Errorf("%s after the target, with %d of 1000 pods: held %t until %s", c.after, c.pods, held, until)
		}
	}
}

func TestPace_PodsThatCameInTheLastDayAreDearButForAScaleDown(t *testing.T) {
	p := everyday(t).runs(time.Minute, 1000)
	if got := p.now.Sub(p.pace.young(p.now)); got != youngFor {
		t.Errorf("pods are dear that came in the last %s", got)
	}
	// After the most pods that ran since, and not the target, it is a scale-down.
	p.runs(time.Minute, 1200).runs(time.Minute, 1080)
	if p.pace.eager(p.now) {
		t.Error("a tenth of the pods is no scale-down")
	}
	if p.runs(time.Minute, 1079); !p.pace.eager(p.now) || p.pace.young(p.now) != p.now {
		t.Error("after a scale-down no pod is dear")
	}
	p.pace.begins(p.now)
	first := p.now
	for range 3 {
		p.runs(paceFor/4, 1079)
		if _, held := p.pace.held(p.now); held || p.pace.young(p.now) != first {
			t.Errorf("%s after the first target: only pods that came since are dear, and nothing waits", p.now.Sub(first))
		}
		p.pace.begins(p.now)
	}
	if p.runs(paceFor/4, 1079); p.pace.eager(p.now) {
		t.Error("a scale-down lasts for ever")
	}
}

func TestPace_TheFirstSearchOfADaemonMakesAllMovesThatPay(t *testing.T) {
	p := newPaced(t).runs(0, 1000)
	if !p.pace.eager(p.now) || p.pace.young(p.now) != p.now {
		t.Errorf("%+v", p.pace)
	}
}

func TestPace_ItBeginsAnewWhereTheNodePoolsAskForOtherNodes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*cluster.Pool)
		anew   bool
	}{
		"budgets":   {func(p *cluster.Pool) { p.Disruption.Budgets = []cluster.Budget{{Most: 1}} }, false},
		"readiness": {func(p *cluster.Pool) { p.Ready, p.NotReady = false, "its class is not ready" }, false},
		"replicas":  {func(p *cluster.Pool) { p.Replicas *= 9 }, false},
		"weight":    {func(p *cluster.Pool) { p.Weight = 10 }, true},
		"taints":    {func(p *cluster.Pool) { p.Taints = []cluster.Taint{{Key: "a", Effect: cluster.NoSchedule}} }, true},
	} {
		p := everyday(t)
		c.change(&p.fleet.Pools[0])
		c.change(&p.fleet.Pools[1])
		if p.runs(time.Minute, 1000); p.pace.eager(p.now) != c.anew {
			t.Errorf("%s: it begins anew: %t", name, !c.anew)
		}
	}
}

func TestPace_PodsOfDaemonSetsGoWithTheirNodesAndDoNotCount(t *testing.T) {
	p := everyday(t)
	many := p.fleet
	for i := range 500 {
		name := fmt.Sprintf("agent%d", i)
		many.Pods = append(many.Pods, cluster.Pod{Namespace: "default", Name: name, UID: name, Node: "n", Pinned: true})
	}
	s, err := cluster.New(many)
	if err != nil {
		t.Fatal(err)
	}
	p.pace.sees(s, p.now)
	p.runs(time.Minute, 1000)
	if _, held := p.pace.held(p.now); !held || p.pace.eager(p.now) {
		t.Errorf("pods of DaemonSets count: %+v", p.pace)
	}
}

func TestPace_AClockThatGoesBackHoldsNothing(t *testing.T) {
	p := everyday(t).runs(-time.Hour, 1000)
	if until, held := p.pace.held(p.now); held {
		t.Errorf("held until %s, and it is %s", until, p.now)
	}
}

func TestYoungOn_PodsThatCameAfterTheTimeAreDearAndPodsThatStayAreNot(t *testing.T) {
	p := newPaced(t)
	for i, c := range []struct {
		created time.Duration
		pinned  bool
	}{{-time.Second, false}, {0, false}, {time.Second, false}, {time.Minute, false}, {time.Minute, true}} {
		name := fmt.Sprintf("p%d", i)
		pod := cluster.Pod{Namespace: "default", Name: name, UID: name, Node: "n", Created: paceStart.Add(c.created), Pinned: c.pinned}
		p.fleet.Pods = append(p.fleet.Pods, pod)
	}
	s, err := cluster.New(p.fleet)
	if err != nil {
		t.Fatal(err)
	}
	state, _ := s.State("n")
	if got, want := youngOn(state, paceStart), int64(2*YoungTimes*cluster.OrdinaryPod); got != want {
		t.Errorf("the pods of the node are dearer by %d, want %d", got, want)
	}
}

// Where nodes are closed for evicted pods, nodes that stay are filled exactly as planned.
func TestPace_OnlyWhereNoNodesAreClosedNewNodesHaveToSaveMoreAfterAScaleDown(t *testing.T) {
	for _, bound := range []bool{false, true} {
		p := everyday(t).runs(time.Minute, 500)
		snap, err := cluster.New(p.fleet)
		if err != nil {
			t.Fatal(err)
		}
		policy := view.DefaultPolicy()
		policy.CannotBind = !bound
		m := &mover{Input: Input{View: view.Of(snap, policy, p.now)}}
		m.state.pace = p.pace
		if share, want := terms(m).Share, map[bool]int64{false: drainedShare, true: policy.MoveShare}[bound]; share != want {
			t.Errorf("where the daemon may bind pods: %v: new nodes have to save %d thousandths, want %d", bound, share, want)
		}
	}
}

func TestPace_AfterALargeScaleDownNewNodesHaveToSaveMoreUntilMovesBegin(t *testing.T) {
	for _, c := range []struct {
		pods    int
		drained bool
	}{{1000, false}, {800, false}, {750, false}, {749, true}, {200, true}} {
		p := everyday(t).runs(time.Minute, c.pods)
		if p.pace.drained() != c.drained {
			t.Errorf("with %d of 1000 pods: drained is %v", c.pods, p.pace.drained())
		}
		if tried := p.pace; c.drained {
			if tried.filled = true; tried.drained() {
				t.Errorf("with %d of 1000 pods: drained although nothing fills what stays", c.pods)
			}
		}
		if p.pace.begins(p.now); p.pace.drained() {
			t.Errorf("with %d of 1000 pods: drained while moves go on", c.pods)
		}
	}
}

// The pods of CronJobs end by themselves: that is no scale-down, after which all that pays
// moves at once.
func TestPace_JobsThatEndAreNoScaleDown(t *testing.T) {
	p := everyday(t)
	for i := range 500 {
		p.fleet.Pods[i].Owner = cluster.Owner{Kind: "Job", Name: "j", UID: "j"}
	}
	jobs, err := cluster.New(p.fleet)
	if err != nil {
		t.Fatal(err)
	}
	p.pace = pace{}
	p.pace.sees(jobs, p.now)
	p.pace.begins(p.now)
	p.now = p.now.Add(paceFor)
	p.pace.begins(p.now)
	p.fleet.Pods = p.fleet.Pods[500:]
	without, err := cluster.New(p.fleet)
	if err != nil {
		t.Fatal(err)
	}
	if p.pace.sees(without, p.now.Add(time.Minute)); p.pace.shrinks() {
		t.Error("the end of 500 of 1,000 pods, which were of Jobs, is a scale-down")
	}
}
