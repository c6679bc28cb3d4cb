package sim

import (
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// eachRate is how many pods a second one controller creates.
const eachRate = 20

// workload is a ReplicaSet and its controller.
type workload struct {
	Workload
	kind     *kind
	job      bool // its pods end after takes
	takes    time.Duration
	revision int64
	ready    int64 // pods that are ready and not being deleted
	budgets  []*podBudget
	declared bool
	missing  int64 // declared and not yet created; below 0 for pods too many
	created  int64 // ever
	batch    int64 // of the slow start
	working  bool
	pods     []*pod          // that exist and are not being deleted
	evicted  []time.Duration // of replicas that are missing: when their pods were evicted
	paced    []time.Duration // when gentle drains evicted pods
}

// controllers create the pods of all workloads. Only a limited number of them
// work at a time.
type controllers struct {
	clock   *clock
	all     []*workload
	workers int64
	pace    time.Duration // between two pods of one controller
	ordered bool          // a workload is declared when its turn comes
	create  func(*workload)
	remove  func(*workload) // deletes one pod too many
	changed func(*workload) // called when the number of missing replicas has changed
}

func newControllers(c *clock, cfg Config) *controllers {
	workers := max(1, (cfg.Rate+eachRate-1)/eachRate)
	k := &controllers{
		clock: c, workers: workers, ordered: cfg.InSequence,
		pace: time.Duration(int64(time.Second) * workers / cfg.Rate),
	}
	for _, w := range cfg.Workloads {
		x := &workload{Workload: w, kind: newKind(w.Name, w.Shape, w.Labels), batch: 1, declared: !cfg.InSequence, missing: w.Replicas}
		x.kind.owned = true
		k.all = append(k.all, x)
	}
	for _, j := range cfg.CronJobs {
		k.all = append(k.all, &workload{Workload: j.Workload, kind: newKind(j.Name, j.Shape, j.Labels), batch: 1, job: true, takes: j.Takes})
	}
	return k
}

// proceed puts idle controllers to work.
func (k *controllers) proceed() {
	busy := int64(0)
	for _, w := range k.all {
		if w.working {
			busy++
		}
	}
	for _, w := range k.all {
		if busy >= k.workers {
			return
		}
		if w.missing == 0 || w.working {
			continue
		}
		if !w.declared {
			w.declared = true
			k.changed(w)
		}
		w.working = true
		busy++
		k.clock.after(0, func() { k.work(w) })
	}
}

// work creates the next batch of one workload; the batches double.
func (k *controllers) work(w *workload) {
	n := min(w.batch, max(w.missing, -w.missing))
	for range n {
		if w.missing < 0 {
			w.missing++
			k.remove(w)
			continue
		}
		w.missing--
		w.created++
		k.create(w)
	}
	k.changed(w)
	w.batch *= 2
	k.clock.after(time.Duration(n)*k.pace, func() {
		if w.missing != 0 {
			k.work(w)
			return
		}
		w.working, w.batch = false, 1
		k.proceed()
	})
}

// lacks says that so many more pods of the workload are to be created; fewer if n is
// negative.
func (k *controllers) lacks(w *workload, n int64) {
	w.missing += n
	// An evicted pod may be one of too many: no other comes in its place.
	w.evicted = w.evicted[:min(int64(len(w.evicted)), max(0, w.missing))]
	k.changed(w)
	k.proceed()
}

// pending says whether pods are still to be created.
func (k *controllers) pending() bool {
	for _, w := range k.all {
		if w.missing != 0 {
			return true
		}
	}
	return false
}

// owner is what all pods of the workload name as their controller.
func (w *workload) owner() cluster.Owner {
	if w.job {
		return cluster.Owner{Kind: "Job", Name: w.Name, UID: "uid-" + w.Name}
	}
	return cluster.Owner{Kind: "ReplicaSet", Name: w.Name, UID: "uid-" + w.Name}
}

// next makes the next pod of the workload.
func (w *workload) next(now time.Duration) *pod {
	name := fmt.Sprintf("%s-%05d", w.Name, w.created)
	p := &pod{
		workload: w, kind: w.kind, revision: w.revision, created: now, seen: -1, decided: -1, ran: -1, evicted: -1,
		Pod: cluster.Pod{
			UID: "uid-" + name, Namespace: w.Namespace, Name: name, Labels: w.Labels, Shape: w.Shape, Created: date(now),
			Owner: w.owner(), DoNotDisrupt: w.DoNotDisrupt,
		},
	}
	if len(w.evicted) > 0 {
		p.evicted, w.evicted = w.evicted[0], w.evicted[1:]
	}
	w.pods = append(w.pods, p)
	return p
}

// date turns virtual time into the time that the core sees.
func date(at time.Duration) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)
}
