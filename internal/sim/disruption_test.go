package sim

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

// lively is a cluster of 60 workloads that is up after a minute, with everything that a
// configuration has besides.
func lively(seed uint64) Config {
	cfg := config(mixed(seed)...)
	cfg.Seed, cfg.Boot, cfg.Quiet, cfg.Limit = seed, 5*time.Second, 3*time.Minute, time.Hour
	for i := range cfg.Workloads {
		w := &cfg.Workloads[i]
		w.Labels = labelled(w.Name)
	}
	return cfg
}

func labelled(app string) label.Labels { return label.FromMap(map[string]string{"app": app}) }

// scaled adds that all workloads keep the share of their replicas, rounded up.
func scaled(cfg Config, at time.Duration, percent int64) Config {
	for _, w := range cfg.Workloads {
		cfg.Scales = append(cfg.Scales, Scale{At: at, Workload: w.Name, Replicas: (w.Replicas*percent + 99) / 100})
	}
	return cfg
}

// emptier is a decider that lets Step do its work and then takes the node with the
// fewest pods away, one at a time, if its pods fit on other nodes. It remembers nothing.
func emptier(in engine.Input) engine.Output {
	out := engine.Step(in)
	var source *cluster.NodeState
	for s := range in.Snapshot.States() {
		c, _ := s.Claim()
		switch {
		case c.Disrupting != nil && !c.Deleting:
			return lastLook(in, out, c)
		case !c.Initialized || c.Deleting:
			return out
		case source == nil || s.Used.MilliCPU < source.Used.MilliCPU:
			source = s
		}
	}
	if source == nil || len(out.Plan.Outcomes) > 0 || !fitElsewhere(in.Snapshot, source) {
		return out
	}
	c, _ := source.Claim()
	out.Plan.Actions = append(out.Plan.Actions, plan.Disrupt{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: plan.Underutilized})
	return out
}

// lastLook deletes a tainted node once the taint is a second old.
func lastLook(in engine.Input, out engine.Output, c cluster.Claim) engine.Output {
	if look := c.Disrupting.Since.Add(time.Second); in.Now.Before(look) {
		return waiting(out, look)
	}
	var pods []string
	for _, p := range in.Snapshot.PodsOn(c.Node) {
		if p.Moves() {
			pods = append(pods, p.UID)
		}
	}
	out.Plan.Actions = append(out.Plan.Actions, plan.Delete{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: plan.Underutilized, Checked: true, Pods: pods})
	return out
}

// fitElsewhere gives every pod of the node the first other node with room.
func fitElsewhere(s cluster.Snapshot, source *cluster.NodeState) bool {
	free := map[string]quantity.Resources{}
	var names []string
	for o := range s.States() {
		if o.Node.Name != source.Node.Name {
			free[o.Node.Name] = o.Node.Allocatable.Sub(o.Used)
			names = append(names, o.Node.Name)
		}
	}
	for p := range source.Pods() {
		if !p.Moves() {
			continue
		}
		i := slices.IndexFunc(names, func(n string) bool { return p.Shape.Requests.Fits(free[n]) })
		if i < 0 {
			return false
		}
		free[names[i]] = free[names[i]].Sub(p.Shape.Requests)
	}
	return true
}

// waiting adds a Wait; a plan has one.
func waiting(out engine.Output, until time.Time) engine.Output {
	for i, a := range out.Plan.Actions {
		if w, ok := a.(plan.Wait); ok {
			if until.Before(w.Until) {
				out.Plan.Actions[i] = plan.Wait{Until: until}
			}
			return out
		}
	}
	out.Plan.Actions = append(out.Plan.Actions, plan.Wait{Until: until})
	return out
}

// from lets decide decide from a time on, and Step before.
func from(at time.Duration, decide func(engine.Input) engine.Output) func(engine.Input) engine.Output {
	return func(in engine.Input) engine.Output {
		if in.Now.Before(date(at)) {
			return waiting(engine.Step(in), date(at))
		}
		return decide(in)
	}
}

func TestRun_ControllersScaleInAndPodsEndAfterTheirGrace(t *testing.T) {
	cfg := scaled(lively(3), 2*time.Minute, 50)
	cfg.Grace = 30 * time.Second
	want := 0
	for _, s := range cfg.Scales {
		want += int(s.Replicas)
	}
	var during, after int
	cfg.Every, cfg.Sampled = 10*time.Second, func(s Sample) {
		n := 0
		for _, p := range s.Input.Snapshot.Pods() {
			if p.Owner.Kind == "ReplicaSet" && p.Deleting {
				n++
			}
		}
		if s.At > 2*time.Minute {
			during, after = max(during, n), n
		}
	}
	r := Run(cfg)
	if r.Remaining != want || r.Left != 0 {
		t.Errorf("%d pods remain, %d of them do not run; want %d and 0", r.Remaining, r.Left, want)
	}
	if during == 0 || after != 0 {
		t.Errorf("%d pods were in their grace at once, %d at the end; want some, and none", during, after)
	}
}

// bare is a run at its first second with the NodeClaim c and its node n, and nothing else.
func bare() (*run, *node) {
	r := &run{cfg: Config{}.withDefaults(), clock: &clock{now: time.Second}, chance: &chance{}, view: newView(Config{}), pods: map[string]*pod{}}
	r.daemon, r.scheduler = &daemon{r: r}, newScheduler(r.clock, r.chance, time.Millisecond)
	r.controllers = newControllers(r.clock, r.cfg)
	r.controllers.changed = r.declared
	r.checker = newChecker(r)
	n := newNode(cluster.Node{Name: "n", Ready: true, Claim: "c", Allocatable: shape(1000, 1000).Requests.Times(9)})
	n.claim = &claim{Claim: cluster.Claim{Name: "c", UID: "uid-c", Node: "n", Initialized: true}, node: n}
	r.claims = []*claim{n.claim}
	r.scheduler.addNode(n)
	return r, n
}

func TestScaleIn_TakesPodsThatDoNotRunThenTheCheapestToDelete(t *testing.T) {
	r, n := bare()
	w := &workload{kind: newKind("w", shape(100, 100), nil)}
	for i, cost := range []int32{5, -1, 3, 0} {
		p := w.next(0)
		p.DeletionCost = cost
		if i < 3 {
			n.add(p)
			p.bind()
		}
	}
	for _, want := range []int32{0, -1, 3, 5} {
		before := slices.Clone(w.pods)
		r.scaleIn(w)
		gone := slices.IndexFunc(before, func(p *pod) bool { return p.dead })
		if gone < 0 || before[gone].DeletionCost != want {
			t.Fatalf("pod %d of %d went, want the one with cost %d", gone, len(before), want)
		}
	}
}

// The pods of a deleted node come back under other names, each evicted once.
func TestRun_PodsOfADeletedNodeComeBackUnderNewNames(t *testing.T) {
	cfg := scaled(lively(4), 2*time.Minute, 60)
	cfg.Grace = time.Second
	cfg.Decide = from(3*time.Minute, emptier)
	r := Run(cfg)
	if r.Evictions == 0 || r.Deletes == 0 || r.Left != 0 || r.Remaining != int(sum(cfg.Scales)) {
		t.Errorf("%d evictions, %d deletes, %d left over, %d remain of %d", r.Evictions, r.Deletes, r.Left, r.Remaining, sum(cfg.Scales))
	}
	if r.Pods != replicas(cfg)+r.Evictions {
		t.Errorf("%d pods were created, want %d and one for each of %d evictions", r.Pods, replicas(cfg), r.Evictions)
	}
}

func sum(scales []Scale) (n int64) {
	for _, s := range scales {
		n += s.Replicas
	}
	return n
}

// A pod whose binding was on its way when its node was tainted is not in the plan.
func TestDelete_SparesANodeWithAPodThatThePlanDidNotKnow(t *testing.T) {
	for _, known := range []bool{true, false} {
		r, n := bare()
		w := &workload{kind: newKind("w", shape(100, 100), nil)}
		first := w.next(0)
		w.created++
		late := w.next(0)
		for _, p := range []*pod{first, late} {
			n.add(p)
			p.bind()
		}
		a := plan.Delete{Claim: "c", Checked: true, Pods: []string{first.UID}}
		if known {
			a.Pods = append(a.Pods, late.UID)
		}
		r.delete(a)
		if n.claim.Deleting != known || r.report.Refused != map[bool]int{false: 1}[known] {
			t.Errorf("all pods known: %t; deleting: %t; refused: %d", known, n.claim.Deleting, r.report.Refused)
		}
	}
}

func TestRun_DrainsWaitForPodDisruptionBudgets(t *testing.T) {
	cfg := scaled(lively(6), time.Minute, 50)
	least := int(sum(cfg.Scales)) - 3
	cfg.Grace, cfg.PodStart = time.Second, 10*time.Second
	cfg.PodBudgets = []PodBudget{{Namespace: "default", Name: "all", MaxUnavailable: 3}}
	cfg.Decide = from(2*time.Minute, emptier)
	cfg.Every, cfg.Sampled = time.Second, func(s Sample) {
		if s.At < 2*time.Minute {
			return
		}
		if b := s.Input.Snapshot.PodBudgets(); len(b) != 1 || b[0].Allowed > 3 {
			t.Errorf("%s: the budget is %+v", s.At, b)
		}
		if s.Ready < least {
			t.Errorf("%s: %d pods are ready, want %d at least", s.At, s.Ready, least)
		}
	}
	cfg.Limit = 20 * time.Minute
	if r := Run(cfg); r.Evictions == 0 {
		t.Error("nothing was evicted")
	}
}

func TestRun_RolloutsReplaceEveryPodAndNeverHaveTooFew(t *testing.T) {
	cfg := lively(7)
	cfg.PodStart = 5 * time.Second
	for _, w := range cfg.Workloads {
		cfg.Rollouts = append(cfg.Rollouts, Rollout{At: 2 * time.Minute, Workload: w.Name})
	}
	cfg.Every, cfg.Sampled = time.Second, func(s Sample) {
		if s.At > 2*time.Minute && s.Ready < replicas(cfg) {
			t.Errorf("%s: %d pods are ready of %d", s.At, s.Ready, replicas(cfg))
		}
	}
	if r := Run(cfg); r.Pods != 2*replicas(cfg) || r.Remaining != replicas(cfg) || r.Left != 0 {
		t.Errorf("%d pods were created and %d remain, want %d and %d", r.Pods, r.Remaining, 2*replicas(cfg), replicas(cfg))
	}
}

func TestRun_PodsOfJobsEndAndAreNoPodEvents(t *testing.T) {
	cfg := lively(8)
	cfg.Limit = 30 * time.Minute
	cfg.CronJobs = []CronJob{{
		Workload: Workload{Namespace: "default", Name: "report", Shape: shape(50, 50), Replicas: 4}, First: 5 * time.Minute, Every: 5 * time.Minute, Takes: time.Minute,
	}}
	var events time.Time
	var jobs int
	cfg.Every, cfg.Sampled = 30*time.Second, func(s Sample) {
		if s.At < 4*time.Minute {
			return
		}
		for _, c := range s.Input.Snapshot.Claims() {
			if c.LastPodEvent.After(events) {
				events = c.LastPodEvent
			}
		}
		for _, p := range s.Input.Snapshot.Pods() {
			if p.Owner.Kind == "Job" && p.Node != "" {
				jobs++
			}
		}
	}
	r := Run(cfg)
	if r.Pods != replicas(cfg)+5*4 || r.Remaining != replicas(cfg) || jobs == 0 {
		t.Errorf("%d pods were created and %d remain; want %d and %d; %d sightings of Jobs", r.Pods, r.Remaining, replicas(cfg)+5*4, replicas(cfg), jobs)
	}
	if !events.Before(date(4 * time.Minute)) {
		t.Errorf("the last pod event is at %s, after all but Jobs had begun", events)
	}
}

func TestRun_ADaemonThatStartsAnewFinishesWhatItBegan(t *testing.T) {
	cfg := scaled(lively(9), 2*time.Minute, 50)
	cfg.Decide = from(2*time.Minute, emptier)
	for i := range 30 {
		cfg.Restarts = append(cfg.Restarts, time.Duration(i)*7*time.Second+time.Duration(i)*13*time.Millisecond)
	}
	cfg.Down = 2 * time.Second
	if r := Run(cfg); r.Left != 0 || r.Remaining != int(sum(cfg.Scales)) || r.Evictions == 0 {
		t.Errorf("%d left over, %d remain of %d, %d evictions", r.Left, r.Remaining, sum(cfg.Scales), r.Evictions)
	}
}

func TestRun_SurvivesInstancesThatNeverJoin(t *testing.T) {
	cfg := lively(10)
	cfg.Stillborn = 200
	cfg.Quiet = 20 * time.Minute
	cfg.Limit = 2 * time.Hour
	if r := Run(cfg); r.Left != 0 || r.Deletes == 0 {
		t.Errorf("%d pods left over, %d nodeclaims deleted", r.Left, r.Deletes)
	}
}

func TestDaily_GoesFromTheLowestAtMidnightToAllAtNoon(t *testing.T) {
	scales := Daily([]Workload{{Name: "w", Replicas: 100}}, 500, time.Hour, 25*time.Hour)
	if len(scales) != 25 || scales[0].Replicas != 50 || scales[6].Replicas != 75 || scales[12].Replicas != 100 || scales[24].Replicas != 50 {
		t.Errorf("%+v", scales)
	}
}

// The scheduler counts a tainted node as a host until it is deleted, unless the spread honours
// taints. Then an evicted replica may have to wait for that, and no node is launched for it
// meanwhile.
func TestRun_ASpreadOverHostsShrinksAndComesToRest(t *testing.T) {
	for _, c := range []struct {
		name        string
		honorTaints bool
		waits       time.Duration // at most: the grace period and the end of an instance
		nodes       int64         // in the end
	}{
		{"taints are ignored", false, time.Minute, 3}, // two replicas of a node would not wait for each other
		{"taints are honoured", true, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			web, fill := shape(500, 500), shape(1000, 1000)
			web.Spread = []cluster.Spread{{Key: label.Hostname, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "web"))}, HonorTaints: c.honorTaints}}
			fill.Ports = []cluster.HostPort{{Protocol: "TCP", Port: 80}} // one a node
			cfg := config(Workload{Namespace: "default", Name: "web", Labels: labelled("web"), Shape: web, Replicas: 6},
				Workload{Namespace: "default", Name: "fill", Labels: labelled("fill"), Shape: fill, Replicas: 6})
			cfg.Classes[0].Types = slices.DeleteFunc(slices.Clone(cfg.Classes[0].Types), func(t catalog.InstanceType) bool { return t.Capacity.MilliCPU > 2000 })
			cfg.Boot, cfg.Quiet, cfg.Limit, cfg.Grace, cfg.Terminate = 20*time.Second, 10*time.Minute, 3*time.Hour, 10*time.Second, 40*time.Second
			cfg.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: 30 * time.Second}
			cfg.Scales = []Scale{{At: 5 * time.Minute, Workload: "fill", Replicas: 0}}
			cfg.Every = time.Second
			var longest, waited time.Duration
			cfg.Sampled = func(s Sample) {
				if waited += cfg.Every; s.Waiting == 0 || s.At < 6*time.Minute {
					waited = 0
				}
				longest = max(longest, waited)
			}
			r := Run(cfg)
			if r.Violations > 0 || r.Left > 0 || r.Repeated > 0 {
				t.Fatalf("%d violations (%s), %d pods left, %d evicted twice", r.Violations, r.Violation, r.Left, r.Repeated)
			}
			if r.Launches != 6 || int64(r.NodesSettled) != c.nodes {
				t.Errorf("%d launches, %d nodes in the end: want 6 and %d", r.Launches, r.NodesSettled, c.nodes)
			}
			if longest > c.waits {
				t.Errorf("pods waited for %s, want %s at most", longest, c.waits)
			}
		})
	}
}
