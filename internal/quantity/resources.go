package quantity

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Names of the resources that every node has, as Kubernetes spells them.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
)

// Amount is a quantity of one extended resource, e.g. 4 of nvidia.com/gpu.
type Amount struct {
	Name  string
	Count int64
}

// Resources is a vector of amounts: what a pod requests, what a node offers.
// Extended is sorted by name, without zero counts and without duplicates; it
// is nil in the common case.
type Resources struct {
	MilliCPU       int64
	MemoryBytes    int64
	EphemeralBytes int64
	PodSlots       int64
	Extended       []Amount
}

// Extend returns r with the amount of the extended resource set to count.
func (r Resources) Extend(name string, count int64) Resources {
	i, found := slices.BinarySearchFunc(r.Extended, name, func(a Amount, n string) int { return strings.Compare(a.Name, n) })
	out := slices.Clone(r.Extended)
	switch {
	case found && count == 0:
		out = slices.Delete(out, i, i+1)
	case found:
		out[i].Count = count
	case count != 0:
		out = slices.Insert(out, i, Amount{Name: name, Count: count})
	}
	if len(out) == 0 {
		out = nil
	}
	r.Extended = out
	return r
}

// With returns r with the amount of the named resource set to count.
func (r Resources) With(name string, count int64) Resources {
	switch name {
	case CPU:
		r.MilliCPU = count
	case Memory:
		r.MemoryBytes = count
	case EphemeralStorage:
		r.EphemeralBytes = count
	case Pods:
		r.PodSlots = count
	default:
		return r.Extend(name, count)
	}
	return r
}

// Get returns the amount of the named resource; zero where r has none.
func (r Resources) Get(name string) int64 {
	switch name {
	case CPU:
		return r.MilliCPU
	case Memory:
		return r.MemoryBytes
	case EphemeralStorage:
		return r.EphemeralBytes
	case Pods:
		return r.PodSlots
	}
	i, found := slices.BinarySearchFunc(r.Extended, name, func(a Amount, n string) int { return strings.Compare(a.Name, n) })
	if !found {
		return 0
	}
	return r.Extended[i].Count
}

// Add returns r + o; sums saturate instead of wrapping around.
func (r Resources) Add(o Resources) Resources {
	return Resources{
		addSaturating(r.MilliCPU, o.MilliCPU), addSaturating(r.MemoryBytes, o.MemoryBytes),
		addSaturating(r.EphemeralBytes, o.EphemeralBytes), addSaturating(r.PodSlots, o.PodSlots),
		merge(r.Extended, o.Extended, addSaturating),
	}
}

// Sub returns r - o, which may be negative in any dimension.
func (r Resources) Sub(o Resources) Resources {
	return Resources{
		subSaturating(r.MilliCPU, o.MilliCPU), subSaturating(r.MemoryBytes, o.MemoryBytes),
		subSaturating(r.EphemeralBytes, o.EphemeralBytes), subSaturating(r.PodSlots, o.PodSlots),
		merge(r.Extended, o.Extended, subSaturating),
	}
}

// Min returns the smaller of r and o in every dimension. A resource that only
// one of them has counts as zero in the other.
func (r Resources) Min(o Resources) Resources {
	return r.combine(o, func(a, b int64) int64 { return min(a, b) })
}

// Max returns the larger of r and o in every dimension.
func (r Resources) Max(o Resources) Resources {
	return r.combine(o, func(a, b int64) int64 { return max(a, b) })
}

// Times returns r multiplied by n, saturating.
func (r Resources) Times(n int64) Resources {
	out := Resources{mulSaturating(r.MilliCPU, n), mulSaturating(r.MemoryBytes, n), mulSaturating(r.EphemeralBytes, n), mulSaturating(r.PodSlots, n), nil}
	if len(r.Extended) > 0 {
		out.Extended = merge(r.Extended, nil, func(a, _ int64) int64 { return mulSaturating(a, n) })
	}
	return out
}

// Fits is Resources.Fits for vectors of amounts: the room has at least as much of
// everything that is needed. A vector has nothing of what is behind its end.
func Fits(need, room []int64) bool {
	for d, n := range need {
		if n > 0 && (d >= len(room) || n > room[d]) {
			return false
		}
	}
	return true
}

func (r Resources) combine(o Resources, f func(a, b int64) int64) Resources {
	return Resources{
		f(r.MilliCPU, o.MilliCPU), f(r.MemoryBytes, o.MemoryBytes), f(r.EphemeralBytes, o.EphemeralBytes), f(r.PodSlots, o.PodSlots),
		merge(r.Extended, o.Extended, f),
	}
}

// merge combines the counts of each name.
func merge(a, b []Amount, f func(a, b int64) int64) []Amount {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	merged := make([]Amount, 0, len(a)+len(b))
	put := func(name string, count int64) {
		if count != 0 {
			merged = append(merged, Amount{Name: name, Count: count})
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || (i < len(a) && a[i].Name < b[j].Name):
			put(a[i].Name, f(a[i].Count, 0))
			i++
		case i == len(a) || b[j].Name < a[i].Name:
			put(b[j].Name, f(0, b[j].Count))
			j++
		default:
			put(a[i].Name, f(a[i].Count, b[j].Count))
			i++
			j++
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// Fits says whether a demand of r can be met out of free: in every dimension
// that r asks for, free has at least as much. A dimension that r does not ask
// for never refuses, even where free is negative (an overcommitted node).
func (r Resources) Fits(free Resources) bool {
	fits := func(need, have int64) bool { return need <= 0 || need <= have }
	if !fits(r.MilliCPU, free.MilliCPU) || !fits(r.MemoryBytes, free.MemoryBytes) ||
		!fits(r.EphemeralBytes, free.EphemeralBytes) || !fits(r.PodSlots, free.PodSlots) {
		return false
	}
	for _, a := range r.Extended {
		if !fits(a.Count, free.Get(a.Name)) {
			return false
		}
	}
	return true
}

// Shortage is one dimension in which a demand exceeds what is free.
type Shortage struct {
	Resource string
	Need     int64
	Free     int64
}

// Lacking lists the dimensions in which r does not fit into free, in the order
// cpu, memory, ephemeral-storage, pods, then extended resources by name.
func (r Resources) Lacking(free Resources) []Shortage {
	var out []Shortage
	check := func(name string, need, have int64) {
		if need > 0 && need > have {
			out = append(out, Shortage{Resource: name, Need: need, Free: have})
		}
	}
	check(CPU, r.MilliCPU, free.MilliCPU)
	check(Memory, r.MemoryBytes, free.MemoryBytes)
	check(EphemeralStorage, r.EphemeralBytes, free.EphemeralBytes)
	check(Pods, r.PodSlots, free.PodSlots)
	for _, a := range r.Extended {
		check(a.Name, a.Count, free.Get(a.Name))
	}
	return out
}

// CountIn returns how many demands of r fit into free, at most limit. Demands
// of nothing fit limit times.
func (r Resources) CountIn(free Resources, limit int64) int64 {
	n := limit
	r.against(free, func(need, have int64) {
		if need > 0 {
			n = min(n, max(0, have)/need)
		}
	})
	return max(0, n)
}

// Copies returns how many times the room of one must be there to be as much as r: 0 for
// nothing. It returns false if the room lacks something of r.
func (r Resources) Copies(one Resources) (n int64, can bool) {
	can = true
	r.against(one, func(need, have int64) {
		switch {
		case need <= 0:
		case have <= 0:
			can = false
		default:
			n = max(n, (need-1)/have+1)
		}
	})
	return n, can
}

// against calls check with each amount of r and the one that o has of the same resource.
func (r Resources) against(o Resources, check func(need, have int64)) {
	check(r.MilliCPU, o.MilliCPU)
	check(r.MemoryBytes, o.MemoryBytes)
	check(r.EphemeralBytes, o.EphemeralBytes)
	check(r.PodSlots, o.PodSlots)
	for _, a := range r.Extended {
		check(a.Count, o.Get(a.Name))
	}
}

// IsZero says whether every amount is zero.
func (r Resources) IsZero() bool {
	return r.MilliCPU == 0 && r.MemoryBytes == 0 && r.EphemeralBytes == 0 && r.PodSlots == 0 && len(r.Extended) == 0
}

// Compare orders vectors: by CPU, memory, ephemeral storage, pods, then the
// extended resources by name and count.
func (r Resources) Compare(o Resources) int {
	for _, p := range [][2]int64{{r.MilliCPU, o.MilliCPU}, {r.MemoryBytes, o.MemoryBytes}, {r.EphemeralBytes, o.EphemeralBytes}, {r.PodSlots, o.PodSlots}} {
		if p[0] != p[1] {
			if p[0] < p[1] {
				return -1
			}
			return 1
		}
	}
	return slices.CompareFunc(r.Extended, o.Extended, func(a, b Amount) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		switch {
		case a.Count < b.Count:
			return -1
		case a.Count > b.Count:
			return 1
		}
		return 0
	})
}

// String renders the vector for people: "1500m cpu, 2048Mi memory, 3 pods".
func (r Resources) String() string {
	var parts []string
	if r.MilliCPU != 0 {
		parts = append(parts, strconv.FormatInt(r.MilliCPU, 10)+"m cpu")
	}
	if r.MemoryBytes != 0 {
		parts = append(parts, strconv.FormatInt(r.MemoryBytes>>20, 10)+"Mi memory")
	}
	if r.EphemeralBytes != 0 {
		parts = append(parts, strconv.FormatInt(r.EphemeralBytes>>20, 10)+"Mi ephemeral-storage")
	}
	if r.PodSlots != 0 {
		parts = append(parts, Count(r.PodSlots, "pod"))
	}
	for _, a := range r.Extended {
		parts = append(parts, strconv.FormatInt(a.Count, 10)+" "+a.Name)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Count renders a number of things for people: "1 pod", "2 pods".
func Count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

func addSaturating(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

func subSaturating(a, b int64) int64 {
	if b == math.MinInt64 {
		return addSaturating(addSaturating(a, math.MaxInt64), 1)
	}
	return addSaturating(a, -b)
}

func mulSaturating(a, b int64) int64 {
	if a >= 0 && b >= 0 {
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		if hi > 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		return int64(lo)
	}
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if p/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		if (a < 0) == (b < 0) {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return p
}
