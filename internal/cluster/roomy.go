package cluster

import (
	"iter"
	"math"
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The index of free room files every node under a cell. A cell is how many kinds
// of extended resources the node has free, and the coarse logarithms of its free
// CPU and memory. Cells are ordered by the kinds, so that nodes with free devices
// come last: pods that need no device should not take their room. Of equal kinds
// they are ordered by the sum of the two logarithms, then by CPU. The sum is the
// logarithm of the product, so nodes with the least room come first.

// grade is a coarse logarithm that grows with n: four steps to every doubling.
func grade(n int64) int {
	if n <= 0 {
		return 0
	}
	u := uint64(n) << 2 // so that two bits always follow the highest bit
	if n >= 1<<61 {
		u = 1<<63 - 1
	}
	top := bits.Len64(u) - 1
	return 1 + (top-2)<<2 + int(u>>(top-2)&3)
}

// cell is where a node with this free room is filed. The search for a demand
// begins at the demand's own cell.
type cell struct{ kinds, sum, cpu int }

func cellOf(free quantity.Resources) cell {
	cpu := grade(free.MilliCPU)
	return cell{kinds: Devices(free), sum: cpu + grade(free.MemoryBytes), cpu: cpu}
}

func (c cell) key() string {
	return string([]byte{byte(c.kinds), byte(c.sum >> 8), byte(c.sum), byte(c.cpu)})
}

func cellAt(key string) cell {
	return cell{kinds: int(key[0]), sum: int(key[1])<<8 | int(key[2]), cpu: int(key[3])}
}

// Devices counts the kinds of extended resources among r, slots to attach volumes
// aside; at most 255.
func Devices(r quantity.Resources) (n int) {
	for _, a := range r.Extended {
		if a.Count > 0 && !IsAttachSlots(a.Name) {
			n++
		}
	}
	return min(n, math.MaxUint8)
}

func roomKey(free quantity.Resources, node string) string { return cellOf(free).key() + node }

// Roomy returns the nodes whose Allocatable - Used holds the need. Nodes with
// fewer kinds of free devices come first, of these the nodes with less room, as far
// as the coarse order tells. Roomy does not check whether a node takes pods at all.
func (s Snapshot) Roomy(need quantity.Resources) iter.Seq[*NodeState] {
	return func(yield func(*NodeState) bool) {
		needed := cellOf(need)
		memory := needed.sum - needed.cpu
		next, more := needed, true
		for more {
			more = false
			for key, l := range s.rooms.from(next.key()) {
				at := cellAt(key)
				switch {
				case at.kinds > next.kinds: // a new part begins, where the search starts over
					next, more = cell{at.kinds, needed.sum, needed.cpu}, true
				case at.cpu < needed.cpu:
					next, more = cell{at.kinds, at.sum, needed.cpu}, true
				case at.sum-at.cpu < memory: // cells with more CPU have even less memory at this sum
					next, more = cell{at.kinds, at.sum + 1, needed.cpu}, true
				case !need.Fits(l.Free):
				case !yield(&NodeState{l, s.groups}):
					return
				}
				if more {
					break
				}
			}
		}
	}
}
