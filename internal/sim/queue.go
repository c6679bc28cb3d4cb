package sim

import (
	"cmp"
	"container/heap"
	"time"
)

// The queues of the scheduler. A pod in none of them is bound or being tried.
type queueName int

const (
	notQueued     queueName = iota
	active                  // to be tried, by priority and then by age
	backingOff              // to be tried when its back-off ends, or earlier if no pod is active
	unschedulable           // not to be tried before an event that may help it
)

// Back-off of a pod: after its first failed attempt, and at most. Back-offs that
// end in one window end together.
const (
	firstBackoff  = time.Second
	maxBackoff    = 10 * time.Second
	backoffWindow = time.Second
)

// refusal is a set of reasons for which no node took a pod; they decide which
// events may help it.
type refusal int

const (
	byFit      refusal = 1 << iota // resources, or the room that nominated pods hold
	byTaint                        // taints, and cordons
	byLabels                       // node selector and affinity
	byTopology                     // spread, pod affinity and anti-affinity
	byPorts
)

// queues holds every pod that is not bound.
type queues struct {
	active, backoff podHeap
	rest            map[*pod]bool // unschedulable; only ever filtered, so its order does not matter
}

func newQueues() queues {
	return queues{active: podHeap{less: byPriority}, backoff: podHeap{less: byBackoff}, rest: map[*pod]bool{}}
}

func byPriority(a, b *pod) bool {
	return cmp.Or(cmp.Compare(b.Shape.Priority, a.Shape.Priority), cmp.Compare(a.since, b.since), cmp.Compare(a.seq, b.seq)) < 0
}

func byBackoff(a, b *pod) bool {
	return a.backoff < b.backoff || a.backoff == b.backoff && byPriority(a, b)
}

func (q *queues) put(p *pod, in queueName) {
	q.take(p)
	p.queue = in
	switch in {
	case active:
		heap.Push(&q.active, p)
	case backingOff:
		heap.Push(&q.backoff, p)
	case unschedulable:
		q.rest[p] = true
	case notQueued:
	}
}

func (q *queues) take(p *pod) {
	switch p.queue {
	case active:
		heap.Remove(&q.active, p.index)
	case backingOff:
		heap.Remove(&q.backoff, p.index)
	case unschedulable:
		delete(q.rest, p)
	case notQueued:
	}
	p.queue = notQueued
}

// pop returns the pod to be tried next. Where no pod is active, it returns one
// that is backing off.
func (q *queues) pop(now time.Duration) *pod {
	for len(q.backoff.pods) > 0 && q.backoff.pods[0].backoff < now.Truncate(backoffWindow) {
		q.put(q.backoff.pods[0], active)
	}
	for _, h := range []*podHeap{&q.active, &q.backoff} {
		if len(h.pods) > 0 {
			p := h.pods[0]
			q.take(p)
			return p
		}
	}
	return nil
}

// failed puts the pod aside until an event may help it.
func (q *queues) failed(p *pod, now time.Duration, why refusal) {
	p.attempts++
	p.since, p.refused = now, why
	wait := maxBackoff
	if shift := p.attempts - 1; shift < 4 {
		wait = min(wait, firstBackoff<<shift)
	}
	p.backoff = (now + wait).Truncate(backoffWindow)
	q.put(p, unschedulable)
}

// wake moves the unschedulable pods that an event may help.
func (q *queues) wake(now time.Duration, helps func(*pod) bool) {
	for p := range q.rest {
		if !helps(p) {
			continue
		}
		if p.backoff < now.Truncate(backoffWindow) {
			q.put(p, active)
		} else {
			q.put(p, backingOff)
		}
	}
}

// podHeap is a heap of pods that know their place in it.
type podHeap struct {
	pods []*pod
	less func(a, b *pod) bool
}

func (h podHeap) Len() int           { return len(h.pods) }
func (h podHeap) Less(i, j int) bool { return h.less(h.pods[i], h.pods[j]) }
func (h podHeap) Swap(i, j int) {
	h.pods[i], h.pods[j] = h.pods[j], h.pods[i]
	h.pods[i].index, h.pods[j].index = i, j
}

func (h *podHeap) Push(x any) {
	p := x.(*pod)
	p.index = len(h.pods)
	h.pods = append(h.pods, p)
}

func (h *podHeap) Pop() any {
	last := len(h.pods) - 1
	p := h.pods[last]
	h.pods[last] = nil
	h.pods = h.pods[:last]
	return p
}
