package packold

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Class is a number of interchangeable pods.
type Class struct {
	Key   string
	Need  quantity.Resources // of one pod
	Count int64
	Zones []uint64 // for each Type: the zones in which it may hold the class, as bits; 0 where it may not
}

// Type is a kind of node that can be launched.
type Type struct {
	Name  string // unique; breaks ties
	Group int    // nodes of one group share taints and labels (a pool and a capacity type)
	Net   quantity.Resources
	Price quantity.Money
	Large bool // above the soft size limit: used only for what fits nothing smaller
}

// Part is how many pods of a class one bin holds.
type Part struct {
	Class int // index into the classes
	Count int64
}

// Bin is Copies nodes of one type with equal content.
type Bin struct {
	Type   int
	Parts  []Part // by class index
	Used   quantity.Resources
	Zones  uint64
	Copies int64
}

// Weights of work, in nano-dollars an hour: what a millicore and a MiB cost on
// EC2 when bought in bulk ($0.032 a vCPU, $0.0034 a GiB).
const (
	perMilliCPU = 32_000
	perMiB      = 3_320
)

// Work is the value of a demand in nano-dollars an hour; at least 1.
func Work(r quantity.Resources) int64 {
	return max(1, r.MilliCPU*perMilliCPU+(r.MemoryBytes>>20)*perMiB)
}

// Pack places the classes on new nodes of the types, which are sorted by price
// and then name, and returns the bins, and for each class
// how many pods no type may hold. rounds is the work done, for the trace.
func Pack(classes []Class, types []Type) (bins []Bin, left []int64, rounds int) {
	left = make([]int64, len(classes))
	for i, c := range classes {
		left[i] = c.Count
	}
	// The soft limit first; what only large types can hold comes after.
	for _, large := range []bool{false, true} {
		for {
			best, ok := bestBin(classes, types, left, large)
			if !ok {
				break
			}
			rounds++
			best.Copies = copies(best.Parts, left)
			for _, p := range best.Parts {
				left[p.Class] -= p.Count * best.Copies
			}
			bins = append(bins, best)
		}
	}
	return bins, left, rounds
}

func copies(parts []Part, left []int64) int64 {
	n := left[parts[0].Class] / parts[0].Count
	for _, p := range parts[1:] {
		n = min(n, left[p.Class]/p.Count)
	}
	return n
}

func bestBin(classes []Class, types []Type, left []int64, large bool) (Bin, bool) {
	var best Bin
	var bestWork int64
	found := false
	for t, typ := range types {
		if typ.Large != large || found && !cheaper(typ, Work(typ.Net), types[best.Type], bestWork) {
			continue // even a full node of it would be dearer
		}
		b, work := fill(classes, types, left, t)
		if len(b.Parts) == 0 {
			continue
		}
		b.Type = rightSize(classes, types, b)
		if !found || cheaper(types[b.Type], work, types[best.Type], bestWork) {
			best, bestWork, found = b, work, true
		}
	}
	return best, found
}

// cheaper compares price/work without dividing: a.Price*workB < b.Price*workA.
// Of equals the one with more work wins (fewer nodes), then the name.
func cheaper(a Type, workA int64, b Type, workB int64) bool {
	ah, al := bits.Mul64(uint64(a.Price), uint64(workB))
	bh, bl := bits.Mul64(uint64(b.Price), uint64(workA))
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl), cmp.Compare(workB, workA), strings.Compare(a.Name, b.Name)) < 0
}

// fill puts into one node of type t what is left, largest share of the node
// first.
func fill(classes []Class, types []Type, left []int64, t int) (Bin, int64) {
	net := types[t].Net
	order := make([]int, 0, len(classes))
	for i := range classes {
		if left[i] > 0 && classes[i].Zones[t] != 0 && classes[i].Need.Fits(net) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(share(classes[b].Need, net), share(classes[a].Need, net)), strings.Compare(classes[a].Key, classes[b].Key))
	})
	bin := Bin{Type: t, Zones: ^uint64(0)}
	free := net
	var work int64
	for _, i := range order {
		c := classes[i]
		if bin.Zones&c.Zones[t] == 0 {
			continue
		}
		n := c.Need.CountIn(free, left[i])
		if n == 0 {
			continue
		}
		bin.Zones &= c.Zones[t]
		bin.Parts = append(bin.Parts, Part{Class: i, Count: n})
		need := c.Need.Times(n)
		bin.Used = bin.Used.Add(need)
		free = free.Sub(need)
		work += Work(c.Need) * n
	}
	slices.SortFunc(bin.Parts, func(a, b Part) int { return cmp.Compare(a.Class, b.Class) })
	return bin, work
}

// share is the largest part of the node that one pod takes, in millionths.
func share(need, net quantity.Resources) int64 {
	part := func(n, of int64) int64 {
		if n <= 0 || of <= 0 {
			return 0
		}
		hi, lo := bits.Mul64(uint64(n), 1_000_000)
		if hi >= uint64(of) {
			return 1_000_000
		}
		q, _ := bits.Div64(hi, lo, uint64(of))
		return int64(q)
	}
	s := max(part(need.MilliCPU, net.MilliCPU), part(need.MemoryBytes, net.MemoryBytes),
		part(need.EphemeralBytes, net.EphemeralBytes), part(need.PodSlots, net.PodSlots))
	for _, a := range need.Extended {
		s = max(s, part(a.Count, net.Get(a.Name)))
	}
	return s
}

// rightSize returns the cheapest type of the bin's group that holds its content.
func rightSize(classes []Class, types []Type, b Bin) int {
	for t, typ := range types[:b.Type] {
		if typ.Group == types[b.Type].Group && Holds(classes, types, b, t) {
			return t
		}
	}
	return b.Type
}

// Holds says whether a node of type t may hold the content of the bin, in one
// of the bin's zones.
func Holds(classes []Class, types []Type, b Bin, t int) bool {
	return b.Used.Fits(types[t].Net) && ZonesOf(classes, b, t) != 0
}

// ZonesOf returns the zones, as bits, in which a node of type t may hold the
// content of the bin.
func ZonesOf(classes []Class, b Bin, t int) uint64 {
	zones := b.Zones
	for _, p := range b.Parts {
		zones &= classes[p.Class].Zones[t]
	}
	return zones
}
