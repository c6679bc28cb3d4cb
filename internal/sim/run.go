package sim

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// run is one run under way.
type run struct {
	cfg         Config
	clock       *clock
	chance      *chance
	scheduler   *scheduler
	controllers *controllers
	checker     *checker
	daemon      *daemon
	view        *view
	pods        map[string]*pod // of the workloads, by namespace/name
	all         []*pod          // the same, as they were created
	claims      []*claim
	daemonKinds []*kind
	waiting     int // pods that are not bound
	settled     time.Duration
	touched     time.Duration // when something changed last
	evicted     time.Time     // when a pod was evicted last to disrupt a node; zero for never
	last        time.Duration // when the last change of the configuration comes
	report      Report
}

// newRun is a run that has not begun: what runs at the start is up.
func newRun(cfg Config) *run {
	cfg = cfg.withDefaults()
	cfg.Pools = slices.Clone(cfg.Pools) // pauses and other events change them
	r := &run{cfg: cfg, clock: &clock{}, chance: &chance{seed: cfg.Seed}, pods: map[string]*pod{}, view: newView(cfg)}
	r.daemon = &daemon{r: r, small: map[string]time.Duration{}}
	r.scheduler = newScheduler(r.clock, r.chance, cfg.AttemptTime)
	r.scheduler.bound, r.scheduler.wrote = r.bound, func(p *pod) { r.view.pod(p); r.daemon.changed() }
	r.scheduler.topology = r.topology
	r.controllers = newControllers(r.clock, cfg)
	r.controllers.create, r.controllers.remove, r.controllers.changed = r.create, r.scaleIn, r.declared
	for _, w := range r.controllers.all {
		r.declared(w)
	}
	for _, d := range cfg.DaemonSets {
		r.daemonKinds = append(r.daemonKinds, newKind(d.Name, d.Shape, nil))
	}
	r.addBudgets()
	r.start()
	r.checker = newChecker(r)
	r.clock.each = r.checker.state
	r.report.Mode, r.report.Bound = cfg.Mode, Bound(cfg)
	return r
}

// Run plays the configuration until all pods run and the time to settle is over, or
// until nothing changes any more where Quiet says so, or until the limit is reached.
func Run(cfg Config) Report {
	r := newRun(cfg)
	cfg = r.cfg
	r.clock.after(0, r.controllers.proceed)
	r.schedule()
	r.sample()
	r.settled = cfg.Limit
	r.clock.run(cfg.Limit, r.over)
	r.finish()
	return r.report
}

// schedule plans what the configuration asks for at some time.
func (r *run) schedule() {
	cfg := &r.cfg
	for _, at := range cfg.Deaths {
		r.planned(at, r.die)
	}
	for _, s := range cfg.Scales {
		r.planned(s.At, func() { r.scale(s) })
	}
	for _, s := range cfg.Rollouts {
		r.planned(s.At, func() { r.rollout(s.Workload) })
	}
	for _, at := range cfg.Restarts {
		r.planned(at, r.daemon.restart)
	}
	for _, p := range cfg.Pauses {
		r.planned(p.From, func() { r.pause(p, true) })
		r.planned(p.To, func() { r.pause(p, false) })
	}
	for _, d := range cfg.Deletions {
		r.planned(d.At, func() {
			r.changePool(d.Pool, func(p *cluster.Pool) { p.Deleting, p.Terminate = true, d.Terminate })
		})
	}
	for _, s := range cfg.Resizes {
		r.planned(s.At, func() { r.changePool(s.Pool, func(p *cluster.Pool) { p.Replicas = s.Replicas }) })
	}
	for _, d := range cfg.Drifts {
		r.planned(d.At, func() { r.drift(d) })
	}
	for _, j := range cfg.CronJobs {
		for at := j.First; at < cfg.Limit; at += j.Every {
			r.planned(at, func() { r.fire(j) })
		}
	}
}

// planned does what the configuration asks for at a time.
func (r *run) planned(at time.Duration, do func()) {
	r.last = max(r.last, at)
	r.clock.at(at, func() { r.touched = r.clock.now; do() })
}

// over says whether the run ends.
func (r *run) over() bool {
	if r.cfg.Quiet > 0 {
		return r.clock.now > max(r.last, r.touched)+r.cfg.Quiet
	}
	return r.clock.now > r.settled
}

// sample shows the run every now and then.
func (r *run) sample() {
	if r.cfg.Sampled == nil {
		return
	}
	s := Sample{At: r.clock.now, Cost: r.cost(), Waiting: r.waiting, Input: r.daemon.input()}
	for _, p := range r.pods {
		if p.Ready && !p.Deleting && !p.dead {
			s.Ready++
		}
	}
	r.cfg.Sampled(s)
	r.clock.after(r.cfg.Every, r.sample)
}

// topology judges by the bound pods. Where pods are nominated for a node, it must
// also take the pod if they ran there, unless their priority is lower.
func (r *run) topology(p *pod) func(*node) bool {
	shape := &p.kind.shape
	if !r.scheduler.social && !slices.ContainsFunc(shape.Spread, func(x cluster.Spread) bool { return !x.Soft }) {
		return nil
	}
	number := map[*kind]int{p.kind: 0}
	classes := []topology.Class{{Namespace: p.Namespace, Labels: p.Labels, Shape: *shape}}
	for _, n := range r.scheduler.nodes {
		for _, x := range n.nominated {
			if _, known := number[x.kind]; !known {
				number[x.kind] = len(classes)
				classes = append(classes, topology.Class{Namespace: x.Namespace, Labels: x.Labels, Shape: x.Shape})
			}
		}
	}
	table := new(topology.Known).Build(r.view.snapshot(), classes, r.cfg.Policy.ExactNamespaces)
	return func(n *node) bool {
		place := topology.Place{Name: n.Name, Labels: n.Labels, Taints: n.Taints}
		count := func(each int64) {
			for _, x := range n.nominated {
				if x != p && x.Shape.Priority >= p.Shape.Priority {
					table.Add(number[x.kind], place, each)
				}
			}
		}
		if table.Room(0, place) == 0 {
			return false
		}
		count(1)
		defer count(-1)
		return table.Room(0, place) > 0
	}
}

// declared shows what the workload lacks to the core.
func (r *run) declared(w *workload) {
	if r.cfg.Mode == Full && w.declared {
		r.view.workload(w)
		r.daemon.changed()
	}
}

func (r *run) create(w *workload) {
	p := w.next(r.clock.now)
	r.report.LastPod = r.clock.now
	r.pods[p.ID()] = p
	r.all = append(r.all, p)
	r.waiting++
	r.view.pod(p)
	r.scheduler.addPod(p)
	r.daemon.changed()
}

// bound is told which node the scheduler chose.
func (r *run) bound(p *pod) {
	if r.cfg.Bind == 0 {
		r.bind(p)
		return
	}
	r.clock.after(r.cfg.Bind, func() {
		if !p.dead {
			r.bind(p)
		}
	})
}

// bind notes that a pod runs. The last pod to run sets the price of the fleet
// and begins the time to settle.
func (r *run) bind(p *pod) {
	now := r.clock.now
	p.bind()
	p.ran = now
	if c := p.node.claim; c.Deleting && !c.gone {
		r.look(c, now)
	}
	if p.decided < 0 {
		p.decided = now
	}
	if p.planned != "" && p.planned != p.node.Name && p.planned != p.node.Claim {
		r.report.Elsewhere++
	}
	r.waiting--
	r.touched = now
	r.view.pod(p)
	r.podEvent(p)
	r.daemon.changed()
	r.begin(p)
	if r.waiting == 0 && !r.controllers.pending() {
		r.report.AllRun, r.report.Cost, r.report.Nodes = now, r.cost(), len(r.claims)
		r.settled = now + r.cfg.Settle
	}
}

// cost is what all instances cost an hour now.
func (r *run) cost() quantity.Money {
	var sum quantity.Money
	for _, c := range r.claims {
		sum += c.price
	}
	r.report.Peak = max(r.report.Peak, sum)
	return sum
}

func (r *run) finish() {
	r.report.Ended, r.report.Settled, r.report.NodesSettled = r.clock.now, r.cost(), len(r.claims)
	coming := map[string]bool{}
	for _, c := range r.claims {
		coming[c.Name] = !c.Registered && !c.Deleting
	}
	var held, wait, ran []time.Duration
	for _, p := range r.all {
		r.report.Pods++
		if p.dead {
			continue
		}
		r.report.Remaining++
		if p.node == nil {
			if r.report.Left++; p.placed && coming[p.planned] {
				r.report.Coming++
			}
			continue
		}
		if p.seen >= 0 {
			held = append(held, p.decided-p.seen)
		}
		wait, ran = append(wait, p.decided-p.created), append(ran, p.ran-p.created)
	}
	r.report.Held, r.report.Wait, r.report.Run = spreadOf(held), spreadOf(wait), spreadOf(ran)
}
