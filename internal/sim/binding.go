package sim

import (
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Nominating says when pods are nominated for the nodes planned for them.
type Nominating int

// The ways to nominate.
const (
	Never       Nominating = iota
	OnceEarly              // all pods before the first node appears, and never again
	WhenCleared            // as OnceEarly, and again whenever the scheduler clears a nomination
	LastTaint              // the pods of a node just before its last taint is removed, and again when cleared
)

// String names the way.
func (n Nominating) String() string {
	return [...]string{"no nomination", "once, early", "when cleared", "before the last taint goes"}[n]
}

// Binding plays the scheduler alone. A finished plan is given; its nodes appear
// one after the other, while all its pods wait from the start.
type Binding struct {
	Seed uint64
	Plan [][]Workload  // for each node what is planned there
	More int64         // by how many thousandths each node is larger than its plan
	When Nominating    //
	Pace time.Duration // between two nodes; default 250 ms
	// Write is how long the daemon takes to write a nomination; default 20 ms.
	Write time.Duration
}

// Bindings is the result of a Binding.
type Bindings struct {
	Left  int     // pods without a node in the end
	Nodes float64 // how many nodes of the mean size the pods left need, by their scarcest resource
}

// binding is a Binding under way.
type binding struct {
	Binding
	scheduler *scheduler
	target    map[*pod]string
	tainted   map[string]bool
	pods      []*pod
}

// first is when the first node appears. By then the scheduler has tried every
// pod.
const first = 5 * time.Second

// keeping is the taint that a new node loses last.
func keeping() cluster.Taint {
	return cluster.Taint{Key: "sim/awaiting-pods", Effect: cluster.NoSchedule}
}

// Bind plays the Binding.
func Bind(cfg Binding) Bindings {
	if cfg.Pace == 0 {
		cfg.Pace = 250 * time.Millisecond
	}
	if cfg.Write == 0 {
		cfg.Write = 20 * time.Millisecond
	}
	c := &clock{}
	b := &binding{
		Binding: cfg, scheduler: newScheduler(c, &chance{seed: cfg.Seed}, time.Millisecond),
		target: map[*pod]string{}, tainted: map[string]bool{},
	}
	b.scheduler.wrote = b.cleared
	pods, sizes := b.demand()
	b.pods = pods
	for _, p := range pods {
		b.scheduler.addPod(p)
	}
	c.at(first-cfg.Pace, func() {
		for _, p := range pods {
			if cfg.When == OnceEarly || cfg.When == WhenCleared {
				b.scheduler.nominate(p, b.target[p])
			}
		}
	})
	for i, size := range sizes {
		c.at(first+time.Duration(i)*cfg.Pace, func() { b.appear(nodeName(i), size) })
	}
	end := first + time.Duration(len(sizes))*cfg.Pace + time.Minute
	c.run(end, func() bool { return false })
	return b.result(pods, sizes)
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

// demand makes the pods of the plan in the order in which controllers create
// them, workload by workload, and the sizes of the nodes.
func (b *binding) demand() (pods []*pod, sizes []quantity.Resources) {
	kinds := map[string]*kind{}
	byKind := map[string][]*pod{}
	var names []string
	for i, content := range b.Plan {
		var sum quantity.Resources
		for _, w := range content {
			k, known := kinds[w.Name]
			if !known {
				k = newKind(w.Name, w.Shape, w.Labels)
				k.owned = true
				kinds[w.Name] = k
				names = append(names, w.Name)
			}
			sum = sum.Add(w.Shape.Requests.Times(w.Replicas))
			for range w.Replicas {
				p := &pod{kind: k, Pod: cluster.Pod{Namespace: "default", Name: fmt.Sprintf("%s-%04d", w.Name, len(byKind[w.Name])), Shape: w.Shape}}
				byKind[w.Name] = append(byKind[w.Name], p)
				b.target[p] = nodeName(i)
			}
		}
		more := func(n int64) int64 { return n + n*b.More/1000 }
		sizes = append(sizes, quantity.Resources{MilliCPU: more(sum.MilliCPU), MemoryBytes: more(sum.MemoryBytes), PodSlots: 110})
	}
	r := &chance{seed: b.Seed ^ 0x5eed}
	r.shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		pods = append(pods, byKind[name]...)
	}
	return pods, sizes
}

// appear adds a node that is ready. Where the daemon keeps the node for its
// pods, the last taint is removed when these pods are nominated.
func (b *binding) appear(name string, size quantity.Resources) {
	n := newNode(cluster.Node{Name: name, Ready: true, Allocatable: size, Labels: label.FromMap(map[string]string{label.Hostname: name})})
	if b.When != LastTaint {
		b.scheduler.addNode(n)
		return
	}
	n.Taints = []cluster.Taint{keeping()}
	b.tainted[name] = true
	b.scheduler.addNode(n)
	b.scheduler.clock.after(2*b.Write, func() {
		for _, p := range b.pods {
			if b.target[p] == name {
				b.scheduler.nominate(p, name)
			}
		}
		b.tainted[name] = false
		b.scheduler.updateNode(n, func(x *cluster.Node) { x.Taints = nil })
	})
}

// cleared writes again a nomination that the scheduler has cleared.
func (b *binding) cleared(p *pod) {
	at := b.target[p]
	if p.Nominated != "" || b.When != WhenCleared && (b.When != LastTaint || b.scheduler.byName[at] == nil || b.tainted[at]) {
		return
	}
	b.scheduler.clock.after(b.Write, func() {
		if p.Nominated == "" {
			b.scheduler.nominate(p, at)
		}
	})
}

func (b *binding) result(pods []*pod, sizes []quantity.Resources) Bindings {
	var out Bindings
	var left, all quantity.Resources
	for _, s := range sizes {
		all = all.Add(s)
	}
	for _, p := range pods {
		if p.node == nil {
			out.Left++
			left = left.Add(p.Shape.Requests)
		}
	}
	n := float64(len(sizes))
	out.Nodes = max(n*float64(left.MilliCPU)/float64(all.MilliCPU), n*float64(left.MemoryBytes)/float64(all.MemoryBytes))
	return out
}
