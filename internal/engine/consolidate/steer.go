package consolidate

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// In the first round of the search, each node that is deleted makes the nodes that stay
// fuller. If those were deleted first that waste the most, the nodes that stay would have
// much CPU and no memory left, or the reverse, and then no other node could be deleted.
// So the order is steered: what is scarce on the nodes that stay makes the nodes that
// have much of it worth keeping. This is Toyoda's rule for knapsacks of several dimensions.

// size is the CPU, in millicores, and the memory, in MiB, that a node has for its pods
// that may move and for others.
type size [2]int64

// sizeOf returns the size of the node.
func (s *shadow) sizeOf(n *node) size {
	out := size{n.free[0], n.free[1] >> 20}
	for _, p := range n.own {
		need := &s.classes[p.class].need
		out[0], out[1] = out[0]+need[0]*p.n, out[1]+need[1]>>20*p.n
	}
	return out
}

// queue is the order in which the first round tries nodes.
type queue struct {
	nodes []int // those to be tried yet, the next one last
	free  size  // what was free when the order was made
	taken bool  // a node was deleted since the room that is free was added up
	begun bool
}

// next returns the node to be tried next in the first round: about the one that costs the
// most for what it takes of the room that is left; -1 if all have been tried. A node takes
// its size, as the pods that it runs take room elsewhere. The order is made anew when much
// of the room is taken.
func (s *Search) next() int {
	q := &s.queue
	if !q.begun || q.taken {
		all, free := s.sums()
		if changed := func(r int) bool { return max(free[r], q.free[r])-min(free[r], q.free[r]) > q.free[r]/orderAnew }; !q.begun || changed(0) || changed(1) {
			q.nodes, q.free = s.steered(all, free), free
		}
		q.begun, q.taken = true, false
	}
	if len(q.nodes) == 0 {
		return -1
	}
	i := q.nodes[len(q.nodes)-1]
	q.nodes = q.nodes[:len(q.nodes)-1]
	return i
}

// orderAnew is the part of the free room after whose change the order is made anew.
const orderAnew = 32

// sums returns the size of all nodes that stay, and what is free on them.
func (s *Search) sums() (all, free size) {
	s.work += len(s.nodes) / nodesPerUnit
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.removed {
			continue
		}
		all[0], all[1] = all[0]+n.size[0], all[1]+n.size[1]
		free[0], free[1] = free[0]+n.free[0], free[1]+n.free[1]>>20
	}
	return all, free
}

// steered returns the nodes that have not been tried, the one to be tried next last.
func (s *Search) steered(all, free size) []int {
	s.work += len(s.nodes)
	rates := make([]int64, len(s.nodes))
	var left []int
	for _, i := range s.order {
		n := &s.nodes[i]
		if n.removed || n.tried {
			continue
		}
		var takes int64
		for r := range free {
			takes += quantity.MulDiv(n.size[r], scale, max(1, free[r], all[r]/1000))
		}
		rates[i] = quantity.MulDiv(max(0, int64(n.price)-s.moving(n.pods, n.dear)), scale, max(1, takes))
		left = append(left, i)
	}
	slices.Reverse(left) // of equals, the first in the order is the last here
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(rates[a], rates[b]) })
	return left
}
