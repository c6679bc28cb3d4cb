package consolidate

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

// In the first round of the search, each node that goes makes the nodes that stay fuller.
// If those went first that waste the most, the nodes that stay would have much CPU and
// no memory left, or the reverse, and then no other node could go. So the order is
// steered: what is scarce on the nodes that stay makes the nodes that have much of it
// worth keeping. This is Toyoda's rule for knapsacks of several dimensions.

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

// next returns the node to be tried next in the first round: the one that costs the most
// for what it takes of the room that is left; -1 if all have been tried. A node takes its
// size, as the pods that it runs take room elsewhere.
func (s *Search) next() int {
	var all, free size
	s.work += len(s.nodes)
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.gone {
			continue
		}
		all[0], all[1] = all[0]+n.size[0], all[1]+n.size[1]
		free[0], free[1] = free[0]+n.free[0], free[1]+n.free[1]>>20
	}
	best, most := -1, int64(0)
	for _, i := range s.order {
		n := &s.nodes[i]
		if n.gone || n.tried {
			continue
		}
		var takes int64
		for r := range free {
			takes += quantity.MulDiv(n.size[r], scale, max(1, free[r], all[r]/1000))
		}
		if rate := quantity.MulDiv(max(0, int64(n.price)-s.moving(n.pods, n.dear)), scale, max(1, takes)); best < 0 || rate > most {
			best, most = i, rate
		}
	}
	return best
}
