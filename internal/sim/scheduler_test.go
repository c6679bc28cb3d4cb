package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// stage is a scheduler with nodes to play on.
type stage struct {
	*scheduler
	order []string // pods in the order in which they were bound
}

func newStage(seed uint64) *stage {
	s := &stage{scheduler: newScheduler(&clock{}, &chance{seed: seed}, time.Millisecond)}
	s.bound = func(p *pod) { p.bind(); s.order = append(s.order, p.Name) }
	return s
}

func (s *stage) node(name string, milliCPU, mib int64, change ...func(*cluster.Node)) *node {
	n := cluster.Node{
		Name: name, Ready: true, Labels: label.FromMap(map[string]string{label.Hostname: name}),
		Allocatable: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: mib << 20, PodSlots: 110},
	}
	for _, f := range change {
		f(&n)
	}
	x := newNode(n)
	s.addNode(x)
	return x
}

func (s *stage) pod(name string, milliCPU, mib int64, change ...func(*cluster.Shape)) *pod {
	sh := shape(milliCPU, mib)
	for _, f := range change {
		f(&sh)
	}
	p := &pod{kind: newKind(name, sh, nil), Pod: cluster.Pod{Namespace: "default", Name: name, Shape: sh}}
	s.addPod(p)
	return p
}

// until plays on to a time.
func (s *stage) until(t time.Duration) {
	s.clock.run(t, func() bool { return false })
	s.clock.now = t
}

func (s *stage) on(t *testing.T, p *pod, want string) {
	t.Helper()
	got := ""
	if p.node != nil {
		got = p.node.Name
	}
	if got != want {
		t.Errorf("pod %s is on %q, want %q", p.Name, got, want)
	}
}

func priority(n int32) func(*cluster.Shape) { return func(s *cluster.Shape) { s.Priority = n } }

func TestScheduler_TriesByPriorityThenAge(t *testing.T) {
	s := newStage(1)
	s.node("a", 8000, 8000)
	s.pod("first", 100, 100)
	s.pod("second", 100, 100)
	s.pod("urgent", 100, 100, priority(10))
	s.until(time.Second)
	if got := fmt.Sprint(s.order); got != "[urgent first second]" {
		t.Errorf("bound in the order %s", got)
	}
}

func TestScheduler_TriesTheNominatedNodeFirst(t *testing.T) {
	s := newStage(1)
	s.node("small", 2000, 2000)
	s.node("roomy", 64_000, 64_000)
	p := s.pod("web", 1900, 1900)
	s.nominate(p, "small")
	s.until(time.Second)
	s.on(t, p, "small")
	if p.Nominated != "" {
		t.Error("a bound pod is still nominated")
	}
}

func TestScheduler_HoldsTheRoomOfNominatedPods(t *testing.T) {
	s := newStage(1)
	s.node("a", 1000, 1000, func(n *cluster.Node) { n.Cordoned = true })
	planned := s.pod("planned", 800, 800, priority(5))
	s.until(time.Second)
	s.nominate(planned, "a")
	s.byName["a"].Cordoned = false // without an event, so that planned is not tried
	equal, higher := s.pod("equal", 800, 800, priority(5)), s.pod("higher", 800, 800, priority(6))
	s.until(1010 * time.Millisecond)
	s.on(t, higher, "a")
	s.on(t, equal, "")
}

func TestScheduler_ClearsTheNominationWhenAnAttemptFails(t *testing.T) {
	s := newStage(1)
	p := s.pod("web", 3000, 1000)
	s.until(time.Second)
	s.nominate(p, "to-come")
	s.node("other", 3000, 1000, func(n *cluster.Node) { n.Taints = []cluster.Taint{keeping()} })
	s.until(2 * time.Second)
	if p.Nominated != "" || p.node != nil || p.refused&byTaint == 0 {
		t.Errorf("nominated for %q on %v, refused for %b", p.Nominated, p.node, p.refused)
	}
}

func TestScheduler_AClearedNominationFreesItsRoom(t *testing.T) {
	s := newStage(1)
	s.node("a", 1000, 1000, func(n *cluster.Node) { n.Cordoned = true })
	planned := s.pod("planned", 800, 800)
	s.until(time.Second)
	s.nominate(planned, "a")
	s.byName["a"].Cordoned = false
	blocked := s.pod("blocked", 800, 800)
	s.until(1500 * time.Millisecond)
	s.on(t, blocked, "")
	s.nominate(planned, "elsewhere")
	s.until(1600 * time.Millisecond)
	s.on(t, blocked, "a")
}

func TestScheduler_PrefersTheLeastAllocatedNode(t *testing.T) {
	s := newStage(1)
	s.node("busy", 8000, 8000).add(s.bare(4000, 4000))
	s.node("idle", 8000, 8000)
	for range 3 {
		p := s.pod("web", 100, 100)
		s.until(s.clock.now + time.Second)
		s.on(t, p, "idle")
	}
}

func (s *stage) bare(milliCPU, mib int64) *pod {
	sh := shape(milliCPU, mib)
	return &pod{kind: newKind("bare", sh, nil), Pod: cluster.Pod{Name: "bare", Shape: sh}}
}

func TestScore_LeastAllocatedCountsDefaultsForPodsThatRequestNothing(t *testing.T) {
	n := newNode(cluster.Node{Allocatable: quantity.Resources{MilliCPU: 1000, MemoryBytes: 2000 << 20, PodSlots: 10}})
	if got := leastAllocated(newKind("empty", cluster.Shape{}, nil), n); got != 90 {
		t.Errorf("score %d, want 90: 100m of 1000m and 200Mi of 2000Mi", got)
	}
	n.add(&pod{kind: newKind("x", shape(500, 0), nil), Pod: cluster.Pod{Shape: shape(500, 0)}})
	if got := leastAllocated(newKind("web", shape(250, 500), nil), n); got != (25+65)/2 {
		t.Errorf("score %d, want %d", got, (25+65)/2)
	}
}

func TestScore_BalanceRewardsWhatEvensOutTheNode(t *testing.T) {
	n := newNode(cluster.Node{Allocatable: quantity.Resources{MilliCPU: 1000, MemoryBytes: 1000 << 20, PodSlots: 10}})
	for _, c := range []struct{ cpu, mib, want int64 }{{200, 200, 75}, {400, 0, 65}, {0, 0, 0}} {
		if got := balance(newKind("web", shape(c.cpu, c.mib), nil), n); got != c.want {
			t.Errorf("%dm and %dMi on an empty node: %d, want %d", c.cpu, c.mib, got, c.want)
		}
	}
	n.add(&pod{kind: newKind("x", shape(400, 0), nil), Pod: cluster.Pod{Shape: shape(400, 0)}})
	if got := balance(newKind("web", shape(0, 400), nil), n); got != 85 {
		t.Errorf("what evens it out scores %d, want 85", got)
	}
}

func TestScheduler_SpreadsAWorkloadOverNodes(t *testing.T) {
	s := newStage(1)
	for i := range 4 {
		s.node(fmt.Sprint("n", i), int64(8000+100*i), 16_000)
	}
	k := newKind("web", shape(100, 100), nil)
	k.owned = true
	for i := range 8 {
		s.addPod(&pod{kind: k, Pod: cluster.Pod{Namespace: "default", Name: fmt.Sprint("web-", i), Shape: k.shape}})
	}
	s.until(time.Second)
	for _, n := range s.nodes {
		if n.counts[k] != 2 {
			t.Errorf("%d pods on %s, want 2", n.counts[k], n.Name)
		}
	}
}

func TestScheduler_AvoidsTaintsThatOnlyPrefer(t *testing.T) {
	s := newStage(1)
	s.node("tainted", 64_000, 64_000, func(n *cluster.Node) {
		n.Taints = []cluster.Taint{{Key: "old", Effect: cluster.PreferNoSchedule}}
	})
	s.node("plain", 4000, 4000).add(s.bare(2000, 2000))
	p := s.pod("web", 1000, 1000)
	s.until(time.Second)
	s.on(t, p, "plain")
}

func TestScheduler_FollowsPreferredNodeAffinity(t *testing.T) {
	s := newStage(1)
	s.node("a", 64_000, 64_000)
	s.node("b", 8000, 8000).add(s.bare(4000, 4000))
	p := s.pod("web", 100, 100, func(x *cluster.Shape) {
		x.Preferred = []cluster.Preference{{Weight: 1, Node: label.All(label.Is(label.Hostname, "b"))}}
	})
	s.until(time.Second)
	s.on(t, p, "b")
}

func TestScheduler_DrawsAmongEqualNodes(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20) {
		s := newStage(seed)
		s.node("a", 8000, 8000)
		s.node("b", 8000, 8000)
		p := s.pod("web", 100, 100)
		s.until(time.Second)
		seen[p.Node] = true
	}
	if len(seen) != 2 {
		t.Errorf("of two equal nodes only %v were ever chosen", seen)
	}
}

func TestScheduler_BacksOffFromOneToTenSeconds(t *testing.T) {
	q := newQueues()
	p := &pod{}
	now := 100 * time.Second
	for _, seconds := range []int{1, 2, 4, 8, 10, 10} {
		want := time.Duration(seconds) * time.Second
		q.failed(p, now, byFit)
		if got := p.backoff - now; got != want {
			t.Errorf("after %d attempts it backs off for %s, want %s", p.attempts, got, want)
		}
	}
}

func TestScheduler_TriesBackingOffPodsWhenThereIsNothingElse(t *testing.T) {
	s := newStage(1)
	p := s.pod("web", 1000, 1000)
	s.until(10 * time.Millisecond)
	s.node("a", 2000, 2000)
	s.until(20 * time.Millisecond)
	s.on(t, p, "a")
}

func TestScheduler_ANodeWakesOnlyWhomItMayHelp(t *testing.T) {
	s := newStage(1)
	s.node("full", 500, 500)
	small, large := s.pod("small", 1000, 1000), s.pod("large", 4000, 1000)
	s.until(20 * time.Second)
	tries := large.attempts
	s.node("a", 2000, 2000)
	s.until(40 * time.Second)
	s.on(t, small, "a")
	if large.attempts != tries {
		t.Errorf("a pod that does not fit the new node was tried %d more times", large.attempts-tries)
	}
}

func TestScheduler_ATaintThatGoesWakesWhomItKeptAway(t *testing.T) {
	s := newStage(1)
	n := s.node("a", 2000, 2000, func(n *cluster.Node) { n.Taints = []cluster.Taint{keeping()} })
	p := s.pod("web", 1000, 1000)
	s.until(time.Second)
	s.on(t, p, "")
	s.updateNode(n, func(x *cluster.Node) { x.Taints = nil })
	s.until(2 * time.Second)
	s.on(t, p, "a")
}

func TestScheduler_LooksAtAShareOfManyNodesFromWhereItStopped(t *testing.T) {
	for n, want := range map[int]int{5: 5, 99: 99, 100: 100, 250: 120, 1000: 420, 6000: 300} {
		if got := enough(n); got != want {
			t.Errorf("of %d nodes %d are looked for, want %d", n, got, want)
		}
	}
	s := newStage(1)
	for i := range 150 {
		s.node(fmt.Sprintf("n%03d", i), 8000, 8000)
	}
	s.pod("web", 100, 100)
	s.until(time.Second)
	if s.start != 100 {
		t.Errorf("the next search begins at %d, want 100", s.start)
	}
}

func TestScheduler_HostPortsConflict(t *testing.T) {
	s := newStage(1)
	s.node("a", 8000, 8000)
	port := func(x *cluster.Shape) { x.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}} }
	first, second := s.pod("first", 100, 100, port), s.pod("second", 100, 100, port)
	s.until(time.Second)
	s.on(t, first, "a")
	s.on(t, second, "")
}

func TestScheduler_NominatedPodsCountForRulesAboutOtherPods(t *testing.T) {
	like := cluster.PodTerm{Key: label.Hostname, Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true}}
	apart := func(x *cluster.Shape) { x.PodAntiAffinity = []cluster.PodTerm{like} }
	s := newStage(1)
	r := run{scheduler: s.scheduler, view: newView(config())}
	s.topology = r.topology
	r.view.node(s.node("a", 8000, 8000, func(n *cluster.Node) { n.Taints = []cluster.Taint{keeping()} }))
	nominated := s.pod("nominated", 100, 100, apart)
	s.until(time.Second)
	s.nominate(nominated, "a")
	other := s.pod("other", 100, 100, apart, func(x *cluster.Shape) { x.Tolerations = []cluster.Toleration{{Exists: true}} })
	s.until(2 * time.Second)
	s.on(t, other, "")
	s.removePod(nominated)
	s.until(5 * time.Second)
	s.on(t, other, "a")
}
