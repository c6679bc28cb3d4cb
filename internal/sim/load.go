package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Daily scales every workload along a sinusoid of 24 hours, every step until the end:
// from its replicas at noon down to low thousandths of them at midnight, when it begins.
func Daily(workloads []Workload, low int64, step, end time.Duration) []Scale {
	var out []Scale
	for at := time.Duration(0); at < end; at += step {
		up := (1 - math.Cos(2*math.Pi*at.Hours()/24)) / 2
		share := float64(low) + float64(up*float64(1000-low))
		for _, w := range workloads {
			out = append(out, Scale{At: at, Workload: w.Name, Replicas: max(1, int64(math.Round(float64(w.Replicas)*share/1000)))})
		}
	}
	return out
}

func (k *controllers) named(name string) *workload {
	i := slices.IndexFunc(k.all, func(w *workload) bool { return w.Name == name })
	if i < 0 {
		panic("sim: there is no workload " + name + "; add it") //nolint:forbidigo // a broken configuration must not report numbers
	}
	return k.all[i]
}

// scale sets the replicas of a workload.
func (r *run) scale(s Scale) {
	w := r.controllers.named(s.Workload)
	more := s.Replicas - w.Replicas
	if more == 0 {
		return
	}
	w.Replicas = s.Replicas
	r.settled = r.cfg.Limit
	r.health(w, 0)
	r.controllers.lacks(w, more)
}

// scaleIn deletes one pod of a workload.
func (r *run) scaleIn(w *workload) {
	if len(w.pods) == 0 {
		return
	}
	first := func(a, b *pod) int {
		running := func(p *pod) int {
			if p.node == nil {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(running(a), running(b)), cmp.Compare(a.DeletionCost, b.DeletionCost))
	}
	least := slices.MinFunc(w.pods, first)
	var equal []*pod
	for _, p := range w.pods {
		if first(p, least) == 0 {
			equal = append(equal, p)
		}
	}
	r.report.LastScaled = r.clock.now
	r.terminate(equal[r.chance.below(int64(len(equal)))])
}

// fire creates the pods of one Job.
func (r *run) fire(j CronJob) {
	r.controllers.lacks(r.controllers.named(j.Name), j.Replicas)
}

// begin is called when a pod is bound: it becomes ready, and ends if it is of a Job.
func (r *run) begin(p *pod) {
	w := p.workload
	ready := func() {
		if p.dead || p.Deleting {
			return
		}
		p.Ready = true
		r.view.pod(p)
		r.health(w, 1)
		r.roll(w)
	}
	if r.cfg.PodStart == 0 {
		ready()
	} else {
		r.clock.after(r.cfg.PodStart, func() { ready(); r.daemon.changed() })
	}
	if w.job {
		r.clock.after(w.takes, func() {
			if !p.dead && !p.Deleting {
				r.terminate(p)
			}
		})
	}
}

// rollout gives the workload another revision.
func (r *run) rollout(name string) {
	w := r.controllers.named(name)
	w.revision++
	r.roll(w)
}

// roll continues a rollout: it creates pods of the new revision up to the surge, and
// deletes pods of earlier ones as far as enough pods are ready.
func (r *run) roll(w *workload) {
	var old []*pod
	for _, p := range w.pods {
		if p.revision != w.revision {
			old = append(old, p)
		}
	}
	if len(old) == 0 {
		return
	}
	surge := (w.Replicas + 3) / 4
	spare := min(int64(len(old)), max(0, w.ready-w.Replicas))
	for _, p := range old[:spare] {
		r.terminate(p)
	}
	all := int64(len(w.pods)) + w.missing
	latest := all - int64(len(old)) + spare
	if more := min(w.Replicas-latest, w.Replicas+surge-all); more > 0 {
		r.controllers.lacks(w, more)
	}
}

// pause begins a pause, or ends it.
func (r *run) pause(p Pause, begins bool) {
	if p.Pool == "" {
		r.cfg.Policy.PauseDisruption = begins
	}
	r.changePool(p.Pool, func(pool *cluster.Pool) { pool.Disruption.Paused = begins })
}

// changePool changes the pool of the name.
func (r *run) changePool(name string, change func(*cluster.Pool)) {
	for i := range r.cfg.Pools {
		if pool := &r.cfg.Pools[i]; pool.Name == name {
			change(pool)
			r.view.pool(*pool)
		}
	}
	r.daemon.changed()
}

// drift lets a part of the NodeClaims drift, those first that are there longest.
func (r *run) drift(d Drift) {
	n := int64(len(r.claims)) * d.Share / 1000
	for _, c := range r.claims[:n] {
		if c.Initialized && !c.Deleting && c.Drift == nil {
			c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: date(r.clock.now)}
			r.view.claim(c)
		}
	}
	r.daemon.changed()
}

// podBudget is a PodDisruptionBudget with its controller.
type podBudget struct {
	PodBudget
	object    cluster.PodBudget
	workloads []*workload
}

func (r *run) addBudgets() {
	for _, b := range r.cfg.PodBudgets {
		x := &podBudget{PodBudget: b, object: cluster.PodBudget{UID: "uid-" + b.Name, Namespace: b.Namespace, Name: b.Name, Selector: b.Selector}}
		for _, w := range r.controllers.all {
			if x.object.Selects(w.Namespace, w.Labels) {
				x.workloads, w.budgets = append(x.workloads, w), append(w.budgets, x)
			}
		}
		r.view.budget(x)
	}
}

// health notes that so many more pods of the workload are ready, and tells its budgets.
func (r *run) health(w *workload, more int64) {
	w.ready += more
	for _, b := range w.budgets {
		allowed := b.MaxUnavailable
		for _, x := range b.workloads {
			allowed += x.ready - x.Replicas
		}
		b.object.Allowed = max(0, allowed)
		r.view.budget(b)
	}
}

// allowed says whether the eviction API evicts the pod: its budget allows that. It refuses
// pods that more than one budget selects.
func (r *run) allowed(p *pod) bool {
	if p.Pinned {
		return true // the model has no budget of pods of DaemonSets
	}
	return len(p.workload.budgets) <= 1 && !slices.ContainsFunc(p.workload.budgets, func(b *podBudget) bool { return b.object.Allowed <= 0 })
}
