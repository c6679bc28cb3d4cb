package knapsack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Kind is a number of equal pods.
type Kind struct {
	Need  []int64 // of one pod, per resource; not negative
	Worth int64   // of one pod; kinds without a worth are left out
	Most  int64   // so many pods at most
}

// Answer is the content of one node that is worth most.
type Answer struct {
	// Count is the best content found, per kind. It is nil where none is worth more
	// than was asked for. It is valid until the next call.
	Count []int64
	Worth int64 // of Count; what was asked for where that is nil
	// Most is what no content is worth more than: Worth where the search ended, or
	// else a bound. The largest number there is means that nothing is known.
	Most  int64
	Cut   bool // the search did not end within its steps
	Steps int
	// Fits is, where the search was cut, how many pods of each kind the bound gives the
	// whole room to, in 1024ths, if the room were theirs alone: no kind's number is
	// worth more than Most. Kinds without a worth have a number, too. It is nil where
	// even all pods are worth no more. It is valid until the next call.
	Fits []int64
}

// Solver has the space that searches need.
type Solver struct {
	kinds   []Kind
	order   []int      // kinds, the densest first
	sums    []sum      // per proportion
	sizes   [][]int64  // per proportion and place in order
	density [][]uint64 // per proportion and place in order: the most of this place and the ones behind it
	room    []int64
	left    []int64   // per kind in order: how many more at the current place
	free    [][]int64 // per place and resource
	rest    [][]int64 // per place and proportion
	worth   []int64   // per place
	all     []int64   // per place: what all pods of this kind and of those behind it are worth
	best    []int64   // per kind
	alone   []int64   // per kind
}

// sum adds up two resources: p eighths of d and the others of e.
type sum struct {
	d, e int
	p    int64
}

// full is the size of the whole room in each resource.
const full = 1 << 20

// proportions are those in which two resources are added up, in eighths.
var proportions = [...]int64{1, 2, 3, 4, 5, 6, 7} //nolint:gochecknoglobals // a constant array

// negligible is the part of the room, as its inverse, that a pod of some kind must
// need of a resource for the bound to add the resource to others.
const negligible = 64

// Best finds a content of the room that is worth more than the given worth. It makes
// so many steps at most.
func (s *Solver) Best(kinds []Kind, room []int64, above int64, limit int) Answer {
	s.begin(kinds, room)
	out := Answer{Worth: above, Most: above}
	if len(s.order) == 0 {
		return out
	}
	bound, by := s.bound(0)
	if bound <= above {
		return out
	}
	s.search(&out, limit)
	out.Most = out.Worth
	if out.Cut {
		out.Most = bound
		out.Fits = s.fits(by)
	}
	return out
}

// begin orders the kinds that fit and measures them.
func (s *Solver) begin(kinds []Kind, room []int64) {
	s.kinds, s.room, s.order = kinds, room, s.order[:0]
	for k := range kinds {
		if kinds[k].Worth > 0 && kinds[k].Most > 0 && quantity.Fits(kinds[k].Need, room) {
			s.order = append(s.order, k)
		}
	}
	size := func(k int) (all int64) {
		for d := range kinds[k].Need {
			all += s.share(k, d)
		}
		return max(1, all)
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		hiA, loA := bits.Mul64(uint64(kinds[a].Worth), uint64(size(b)))
		hiB, loB := bits.Mul64(uint64(kinds[b].Worth), uint64(size(a)))
		return cmp.Or(cmp.Compare(hiB, hiA), cmp.Compare(loB, loA))
	})
	s.measure()
}

// measure fills sizes, density and the first place.
func (s *Solver) measure() {
	s.sums, s.sizes = s.sums[:0], s.sizes[:0]
	var matter []int
	for d := range s.room {
		var most int64
		for _, k := range s.order {
			most = max(most, s.share(k, d))
		}
		if most > 0 {
			s.add(sum{d, d, 8})
		}
		if most > full/negligible {
			matter = append(matter, d)
		}
	}
	for i, d := range matter {
		for _, e := range matter[i+1:] {
			for _, p := range proportions {
				s.add(sum{d, e, p})
			}
		}
	}
	n := len(s.order)
	s.density = slices.Grow(s.density[:0], len(s.sizes))[:len(s.sizes)]
	for w := range s.sizes {
		s.density[w] = slices.Grow(s.density[w][:0], n+1)[:n+1]
		s.density[w][n] = 0
		for i := n - 1; i >= 0; i-- {
			each := uint64(math.MaxUint64)
			if size := s.sizes[w][i]; size > 0 {
				each = uint64(s.kinds[s.order[i]].Worth)/uint64(size) + 1
			}
			s.density[w][i] = max(each, s.density[w][i+1])
		}
	}
	s.free, s.rest = rows(s.free, n+1, len(s.room)), rows(s.rest, n+1, len(s.sizes))
	s.worth, s.left = slices.Grow(s.worth[:0], n+1)[:n+1], slices.Grow(s.left[:0], n+1)[:n+1]
	s.all = slices.Grow(s.all[:0], n+1)[:n+1]
	s.all[n] = 0
	for i := n - 1; i >= 0; i-- {
		k := &s.kinds[s.order[i]]
		s.all[i] = plus(s.all[i+1], k.Worth, k.Most)
	}
	copy(s.free[0], s.room)
	for w := range s.sizes {
		s.rest[0][w] = 8 * full
	}
	s.worth[0] = 0
}

// add measures the kinds by the sum.
func (s *Solver) add(by sum) {
	var sizes []int64
	if n := len(s.sizes); n < cap(s.sizes) {
		sizes = s.sizes[:n+1][n][:0]
	}
	for _, k := range s.order {
		sizes = append(sizes, s.size(k, by))
	}
	s.sums, s.sizes = append(s.sums, by), append(s.sizes, sizes)
}

// size is how much a pod of the kind takes of the sum. It is rounded down, so that
// what fits the room fits the sum.
func (s *Solver) size(kind int, by sum) int64 {
	return by.p*s.share(kind, by.d) + (8-by.p)*s.share(kind, by.e)
}

// share is the part of the room's resource that a pod of the kind, which fits, takes;
// the whole is full.
func (s *Solver) share(kind, d int) int64 {
	need := s.kinds[kind].Need
	if d >= len(need) || need[d] <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(need[d]), full)
	share, _ := bits.Div64(hi, lo, uint64(s.room[d]))
	return int64(share)
}

func rows(space [][]int64, n, width int) [][]int64 {
	space = slices.Grow(space[:0], n)[:n]
	for i := range space {
		space[i] = slices.Grow(space[i][:0], width)[:width]
	}
	return space
}

// bound is the most that the kinds from the place on are worth in what is free there,
// and the proportion that says so. It is -1 where even all of their pods are worth no
// more.
func (s *Solver) bound(place int) (tightest int64, by int) {
	tightest, by = s.all[place], -1
	for w, rest := range s.rest[place] {
		if s.density[w][place] == math.MaxUint64 { // a kind that takes nothing of it
			continue
		}
		hi, lo := bits.Mul64(uint64(rest), s.density[w][place])
		if hi == 0 && lo < uint64(tightest) {
			tightest, by = int64(lo), w
		}
	}
	return tightest, by
}

// fits is Answer.Fits for the proportion.
func (s *Solver) fits(by int) []int64 {
	if by < 0 {
		return nil
	}
	s.alone = slices.Grow(s.alone[:0], len(s.kinds))[:len(s.kinds)]
	clear(s.alone)
	for k := range s.kinds {
		if s.kinds[k].Most > 0 && quantity.Fits(s.kinds[k].Need, s.room) {
			s.alone[k] = 8 * full * 1024 / max(1, s.size(k, s.sums[by]))
		}
	}
	return s.alone
}

// search tries, place by place, the kind of that place in all numbers, the highest
// first.
func (s *Solver) search(out *Answer, limit int) {
	s.best = slices.Grow(s.best[:0], len(s.kinds))[:len(s.kinds)]
	place := 0
	s.left[0] = s.fitting(0)
	for place >= 0 {
		if s.left[place] < 0 {
			place--
			if place >= 0 {
				s.left[place]--
			}
			continue
		}
		if out.Steps == limit {
			out.Cut = true
			return
		}
		out.Steps++
		s.take(place)
		if worth := s.worth[place+1]; worth > out.Worth {
			out.Worth, out.Count = worth, s.best
			clear(s.best)
			for i := range place + 1 {
				s.best[s.order[i]] = s.left[i]
			}
		}
		if place+1 == len(s.order) { // fewer of the last kind are worth less
			s.left[place] = -1
			continue
		}
		if more, _ := s.bound(place + 1); more > out.Worth-s.worth[place+1] {
			place++
			s.left[place] = s.fitting(place)
			continue
		}
		s.left[place]--
	}
}

// fitting is how many pods of the kind fit what is free at its place.
func (s *Solver) fitting(place int) int64 {
	k := &s.kinds[s.order[place]]
	n := k.Most
	for d, need := range k.Need {
		if need > 0 {
			n = min(n, s.free[place][d]/need)
		}
	}
	return n
}

// take writes what is free, and the worth, behind the place.
func (s *Solver) take(place int) {
	k, n := &s.kinds[s.order[place]], s.left[place]
	free, next := s.free[place], s.free[place+1]
	copy(next, free)
	for d, need := range k.Need {
		if need > 0 {
			next[d] -= need * n
		}
	}
	for w, rest := range s.rest[place] {
		s.rest[place+1][w] = rest - s.sizes[w][place]*n
	}
	s.worth[place+1] = plus(s.worth[place], k.Worth, n)
}

// plus is sum + worth*n, at most the largest number there is.
func plus(sum, worth, n int64) int64 {
	hi, lo := bits.Mul64(uint64(worth), uint64(n))
	if hi > 0 || lo > uint64(math.MaxInt64-sum) {
		return math.MaxInt64
	}
	return sum + int64(lo)
}
