package consolidate

import (
	"math/bits"
	"slices"
)

// index finds the nodes that may have room for a pod without a look at each of them: for
// CPU and for memory, and for each of a row of amounts, it has the set of the nodes that
// have at least so much free.
type index struct {
	sets  [2][levels][]uint64 // by resource and level: a bit for each node
	at    [][2]int            // by node: its levels of free CPU and memory; 0 where it takes no pods
	stale []int               // nodes that may have changed since
}

// levels is how many amounts are told apart. Each is about 1.4 times the one before: two
// to an octave, of amounts up to 2^30.
const levels = 2*31 + 2

// levelOf returns the level of an amount of CPU, in millicores, or of memory, in MiB: from 1
// for nothing on.
func levelOf(amount int64) int {
	if amount <= 0 {
		return 1
	}
	n := bits.Len64(uint64(amount))
	return min(2*n+int(amount<<1>>(n-1))&1, levels-1)
}

// levelsOf returns the levels of CPU and memory.
func levelsOf(v *vector) [2]int { return [2]int{levelOf(v[0]), levelOf(v[1] >> 20)} }

// see brings the index up to date for the nodes that may have changed.
func (x *index) see(nodes []node) {
	for _, i := range x.stale {
		if i >= len(nodes) || nodes[i].removed {
			x.set(i, [2]int{})
		} else {
			x.set(i, levelsOf(&nodes[i].free))
		}
	}
	x.stale = x.stale[:0]
}

// set notes the levels of a node.
func (x *index) set(i int, now [2]int) {
	for len(x.at) <= i {
		x.at = append(x.at, [2]int{})
	}
	bit := uint64(1) << (i % 64)
	for r, level := range now {
		for l := x.at[i][r] + 1; l <= level; l++ {
			set := &x.sets[r][l]
			for len(*set) <= i/64 {
				*set = append(*set, 0)
			}
			(*set)[i/64] |= bit
		}
		for l := x.at[i][r]; l > level; l-- {
			x.sets[r][l][i/64] &^= bit
		}
	}
	x.at[i] = now
}

// clone returns a copy that can be changed.
func (x *index) clone() index {
	out := index{at: slices.Clone(x.at), stale: slices.Clone(x.stale)}
	for r := range x.sets {
		for l := range x.sets[r] {
			out.sets[r][l] = slices.Clone(x.sets[r][l])
		}
	}
	return out
}

// each calls f with the nodes that may have room for the amount, until f says that it has
// seen enough. It begins at some node, continues in order, and ends with those before.
func (x *index) each(need *vector, from int, f func(i int) (more bool)) {
	level := levelsOf(need)
	cpu, memory := x.sets[0][level[0]], x.sets[1][level[1]]
	length := min(len(cpu), len(memory))
	for j := range length {
		k := (j + from) % length
		for both := cpu[k] & memory[k]; both != 0; both &= both - 1 {
			if !f(64*k + bits.TrailingZeros64(both)) {
				return
			}
		}
	}
}
