package page

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// detail is what is shown of one node.
type detail struct {
	Why      string      `json:"why,omitempty"`
	Remedy   string      `json:"remedy,omitempty"`
	For      string      `json:"for,omitempty"`   // what a node that stays would be deleted for
	Until    int64       `json:"until,omitempty"` // when that may change by time alone
	Move     string      `json:"move,omitempty"`
	Lost     []string    `json:"lost,omitempty"` // pods that nothing creates anew
	Instance string      `json:"instance,omitempty"`
	Class    string      `json:"class,omitempty"`
	Expires  int64       `json:"expires,omitempty"`
	Room     []room      `json:"room,omitempty"`
	Pods     []detailPod `json:"pods"`
}

// room is how much of a resource the pods of a node request.
type room struct {
	Name string `json:"name"`
	Used string `json:"used"`
	All  string `json:"all"`
	Full int64  `json:"full"` // percent
}

// detailPod is a pod of the node.
type detailPod struct {
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	CPU       string `json:"cpu"`
	Memory    string `json:"memory"`
	NotReady  bool   `json:"notReady,omitempty"`
	Pinned    bool   `json:"pinned,omitempty"`    // belongs to the node
	Protected bool   `json:"protected,omitempty"` // by its annotation do-not-disrupt
	Leaving   bool   `json:"leaving,omitempty"`
}

// detail returns what is known of the node, or NodeClaim, with the key.
func (p *Page) detail(key string) (out detail, known bool) {
	v := &p.viewers
	v.mu.Lock()
	p.ask()
	l := v.last
	v.mu.Unlock()
	out.Pods = []detailPod{}
	name := key
	if c, there := l.input.Snapshot.Claim(key); there {
		known, name = true, c.Node
		out.Instance, out.Class, out.Expires = c.InstanceID, c.Class, unix(c.ExpiresAt)
	}
	if i := slices.IndexFunc(l.standings.Nodes, func(s plan.Standing) bool { return s.Claim == key }); i >= 0 {
		s := &l.standings.Nodes[i]
		out.Lost, out.Move, out.For, out.Until = s.Lost, s.Move, string(s.For), unix(s.Stay.Until)
		out.Why = s.Explain()
		if s.DeletedFor == "" {
			out.Remedy = s.Stay.Remedy()
		}
	}
	state, there := l.input.Snapshot.State(name)
	if !there {
		return out, known
	}
	out.Room = []room{
		{"CPU", amount(quantity.CPU, state.Used.MilliCPU), amount(quantity.CPU, state.Node.Allocatable.MilliCPU), percent(state.Used.MilliCPU, state.Node.Allocatable.MilliCPU)},
		{"Memory", amount(quantity.Memory, state.Used.MemoryBytes), amount(quantity.Memory, state.Node.Allocatable.MemoryBytes), percent(state.Used.MemoryBytes, state.Node.Allocatable.MemoryBytes)},
		{"Pods", amount(quantity.Pods, int64(state.Count())), amount(quantity.Pods, state.Node.Allocatable.PodSlots), percent(int64(state.Count()), state.Node.Allocatable.PodSlots)},
	}
	for pod := range state.Pods() {
		out.Pods = append(out.Pods, l.podOf(&pod))
	}
	slices.SortStableFunc(out.Pods, func(a, b detailPod) int { return cmp.Compare(rank(a), rank(b)) })
	return out, true
}

// rank puts pods that keep the node first, and those that belong to it last.
func rank(p detailPod) int {
	switch {
	case p.Protected:
		return 0
	case p.Pinned:
		return 2
	}
	return 1
}

func (l *look) podOf(p *cluster.Pod) detailPod {
	out := detailPod{
		Name: p.ID(), NotReady: p.NotReady, Pinned: p.Pinned, Leaving: p.Deleting, Protected: p.Protected(l.input.Now),
		CPU: amount(quantity.CPU, p.Shape.Requests.MilliCPU), Memory: amount(quantity.Memory, p.Shape.Requests.MemoryBytes),
	}
	if p.Owner.Kind != "" {
		out.Owner = p.Owner.Kind + " " + p.Owner.Name
	}
	return out
}
