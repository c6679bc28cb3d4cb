package sim

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// scheduler is the model of the kube-scheduler. It makes one attempt after the
// other, each with everything that is known at its time.
type scheduler struct {
	clock   *clock
	chance  *chance
	attempt time.Duration
	nodes   []*node
	byName  map[string]*node
	start   int  // where the next search begins
	social  bool // some pod has a rule about where other pods are
	queues  queues
	busy    bool
	count   int64

	bound func(*pod) // a pod was bound
	wrote func(*pod) // a pod's condition or nomination was written
	// topology returns which nodes the rules about other pods leave to the pod; nil
	// where they leave all nodes.
	topology func(*pod) func(*node) bool
}

func newScheduler(c *clock, r *chance, attempt time.Duration) *scheduler {
	ignore := func(*pod) {}
	return &scheduler{topology: func(*pod) func(*node) bool { return nil }, clock: c, chance: r, attempt: attempt, byName: map[string]*node{}, queues: newQueues(), bound: (*pod).bind, wrote: ignore}
}

// addPod takes in a new pod.
func (s *scheduler) addPod(p *pod) {
	s.count++
	p.seq, p.since = s.count, s.clock.now
	s.social = s.social || len(p.Shape.PodAffinity)+len(p.Shape.PodAntiAffinity) > 0
	s.queues.put(p, active)
	s.proceed()
}

// removePod forgets a deleted pod. The room that the pod had or held may help
// other pods.
func (s *scheduler) removePod(p *pod) {
	s.queues.take(p)
	held := p.node != nil || p.Nominated != ""
	s.setNominated(p, "")
	if p.node != nil {
		p.node.remove(p)
	}
	if held {
		s.wake(func(x *pod) bool { return x.refused&(byFit|byTopology|byPorts) != 0 })
	}
}

// addNode takes in a new node.
func (s *scheduler) addNode(n *node) {
	s.nodes = append(s.nodes, n)
	s.byName[n.Name] = n
	for p := range s.waiting() {
		if p.Nominated == n.Name {
			n.nominated = append(n.nominated, p)
		}
	}
	slices.SortFunc(n.nominated, func(a, b *pod) int { return int(a.seq - b.seq) })
	s.wake(func(p *pod) bool {
		static := n.static(p.kind)
		return p.refused == 0 ||
			p.refused&byFit != 0 && p.Shape.Requests.Fits(n.Allocatable) ||
			p.refused&byTaint != 0 && static&byTaint == 0 ||
			p.refused&byLabels != 0 && static&byLabels == 0 ||
			p.refused&byTopology != 0 || p.refused&byPorts != 0
	})
}

// updateNode changes a node's taints, labels or cordon.
func (s *scheduler) updateNode(n *node, change func(*cluster.Node)) {
	before, closed := n.Taints, n.closed()
	change(&n.Node)
	n.changed()
	s.wake(func(p *pod) bool {
		if p.refused&byTaint == 0 || n.closed() {
			return false
		}
		_, was := cluster.Untolerated(before, p.Shape.Tolerations)
		return (was || closed) && n.static(p.kind)&byTaint == 0
	})
}

// removeNode forgets a node. Its caller removes the pods of the node.
func (s *scheduler) removeNode(n *node) {
	delete(s.byName, n.Name)
	s.nodes = slices.DeleteFunc(s.nodes, func(x *node) bool { return x == n })
	if len(s.nodes) > 0 {
		s.start %= len(s.nodes)
	}
}

// nominate takes in a nomination that the daemon wrote.
func (s *scheduler) nominate(p *pod, node string) {
	if p.node != nil || p.dead {
		return
	}
	changed := p.Nominated != "" && p.Nominated != node
	s.setNominated(p, node)
	p.NominatedByUs = true
	if changed {
		s.freed(p)
	}
}

// freed says that the pod no longer holds room on the node of its nomination.
// This may help pods of no higher priority.
func (s *scheduler) freed(p *pod) {
	s.wake(func(x *pod) bool {
		return x.refused&(byFit|byTopology|byPorts) != 0 && x.Shape.Priority <= p.Shape.Priority
	})
}

// bind takes in that somebody else bound the pod, unless the pod has a node already.
func (s *scheduler) bind(p *pod, n *node) {
	if p.node != nil || p.dead {
		return
	}
	s.queues.take(p)
	s.assign(p, n)
}

// assign gives a pod that is not queued its node.
func (s *scheduler) assign(p *pod, n *node) {
	s.setNominated(p, "")
	p.Unschedulable = false
	n.add(p)
	s.bound(p)
}

func (s *scheduler) setNominated(p *pod, node string) {
	if n := s.byName[p.Nominated]; n != nil {
		n.nominated = slices.DeleteFunc(n.nominated, func(x *pod) bool { return x == p })
	}
	p.Nominated = node
	if n := s.byName[node]; n != nil {
		n.nominated = append(n.nominated, p)
	}
}

// waiting lists the pods in the queues, in no particular order.
func (s *scheduler) waiting() map[*pod]bool {
	all := make(map[*pod]bool, len(s.queues.rest)+len(s.queues.active.pods)+len(s.queues.backoff.pods))
	for p := range s.queues.rest {
		all[p] = true
	}
	for _, p := range slices.Concat(s.queues.active.pods, s.queues.backoff.pods) {
		all[p] = true
	}
	return all
}

func (s *scheduler) wake(helps func(*pod) bool) {
	s.queues.wake(s.clock.now, helps)
	s.proceed()
}

// proceed starts the next attempt unless one is under way.
func (s *scheduler) proceed() {
	if s.busy {
		return
	}
	s.busy = true
	s.clock.after(0, s.try)
}

func (s *scheduler) try() {
	p := s.queues.pop(s.clock.now)
	if p == nil {
		s.busy = false
		return
	}
	if n, why := s.place(p); n != nil {
		s.assign(p, n)
		if s.social || len(p.Shape.Spread) > 0 {
			s.wake(func(x *pod) bool { return x.refused&byTopology != 0 })
		}
	} else {
		s.refuse(p, why)
	}
	s.clock.after(s.attempt, s.try)
}

// refuse marks the pod as unschedulable. Preemption finds nothing, so the
// scheduler clears the nomination.
func (s *scheduler) refuse(p *pod, why refusal) {
	s.queues.failed(p, s.clock.now, why)
	written := !p.Unschedulable || p.Nominated != ""
	p.Unschedulable = true
	if p.Nominated != "" {
		s.setNominated(p, "")
		s.freed(p)
	}
	if written {
		s.wrote(p)
	}
}

// place returns the node for the pod, or why there is none. It tries the node of
// the pod's nomination first.
func (s *scheduler) place(p *pod) (*node, refusal) {
	allowed := s.topology(p)
	filter := func(n *node) refusal {
		r := s.filter(p, n)
		if r == 0 && allowed != nil && !allowed(n) {
			r = byTopology
		}
		return r
	}
	if n := s.byName[p.Nominated]; n != nil && filter(n) == 0 {
		return n, 0
	}
	var why refusal
	var feasible []*node
	want := enough(len(s.nodes))
	tried := 0
	for ; tried < len(s.nodes) && len(feasible) < want; tried++ {
		n := s.nodes[(s.start+tried)%len(s.nodes)]
		if r := filter(n); r != 0 {
			why |= r
			continue
		}
		feasible = append(feasible, n)
	}
	if len(s.nodes) > 0 {
		s.start = (s.start + tried) % len(s.nodes)
	}
	switch len(feasible) {
	case 0:
		return nil, why
	case 1:
		return feasible[0], 0
	}
	return s.best(p, feasible), 0
}

// enough is how many feasible nodes the scheduler looks for among n nodes: all
// up to 100, then a share that falls from 50 % to 5 %
// (percentageOfNodesToScore).
func enough(n int) int {
	const least = 100
	if n < least {
		return n
	}
	return max(least, n*max(5, 50-n/125)/100)
}

// filter says why the pod cannot run on the node now. Pods that are nominated
// for the node count as if they ran there, unless their priority is lower.
func (s *scheduler) filter(p *pod, n *node) refusal {
	if n.closed() {
		return byTaint
	}
	if r := n.static(p.kind); r != 0 {
		return r
	}
	need := p.Shape.Requests
	free := n.Allocatable.Sub(n.used)
	if !need.Fits(free) {
		return byFit
	}
	for _, x := range n.nominated {
		if x != p && x.Shape.Priority >= p.Shape.Priority {
			free = free.Sub(x.Shape.Requests)
		}
	}
	if !need.Fits(free) {
		return byFit
	}
	if conflict(p, n) {
		return byPorts
	}
	return 0
}

// conflict says whether a port of the node that the pod needs is taken.
func conflict(p *pod, n *node) bool {
	if len(p.Shape.Ports) == 0 {
		return false
	}
	for _, x := range slices.Concat(n.pods, n.nominated) {
		if x == p {
			continue
		}
		for _, a := range p.Shape.Ports {
			if slices.ContainsFunc(x.Shape.Ports, a.Conflicts) {
				return true
			}
		}
	}
	return false
}
