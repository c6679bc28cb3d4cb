package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// lots is about how many bins are dealt to at once; more nodes are filled alike.
const lots = 160

// fullness is, in order, the worth that a bin must hold for its price, in 1024ths:
// what holds less is taken apart and dealt again with the rest. The next is for
// where no bin holds as much.
var fullness = [...]uint64{1009, 1004, 993, 970, 922} //nolint:gochecknoglobals // a constant array

// spreadAll deals until the linear program would buy less than one whole node.
func (s *search) spreadAll() {
	cuts, groups := s.cuts, firstGroups
	for full := fullness[:]; len(full) > 0; {
		s.cap = s.dearest()
		var prices price.Prices
		if groups == firstGroups && s.whole != nil && s.cap == 0 && s.untouched() {
			prices = *s.whole
		} else {
			prices = s.pricesFor(s.left, cuts, groups)
		}
		cuts, groups = 0, someGroups
		s.values.set(prices, s.left)
		total := int64(0)
		for _, n := range prices.Buys {
			total += n / 1024
		}
		if total == 0 {
			return
		}
		m := max(1, total/lots)
		bins := s.spread(prices, m)
		for len(full) > 0 && !s.keep(bins, m, full[0]) {
			full = full[1:]
		}
	}
}

// dearest is the price above which nodes would be too few for the rules: pods
// of which a bin may hold only so many need so many bins. 0 is no limit.
func (s *search) dearest() int64 {
	if !s.demand.ruled {
		return 0
	}
	s.perRule = append(s.perRule[:0], make([]int64, len(s.rules))...)
	var worth price.Sum
	for k := range s.demand.kinds {
		kd := &s.demand.kinds[k]
		worth.Add(int64(s.values.worth[k]), s.left[k])
		for _, r := range kd.roles {
			if r.Binds && r.Counts {
				s.perRule[r.Rule] = addCounts(s.perRule[r.Rule], s.left[k])
			}
		}
	}
	most := int64(1)
	for r, n := range s.perRule {
		if limit := s.rules[r].Max; limit > 0 {
			most = max(most, n/limit)
		}
	}
	if most < 2 {
		return 0
	}
	return max(1, worth.Unscaled(0)/most)
}

// usual is how many kinds a bin holds, about.
const usual = 16

// bin is a number of nodes that are filled alike.
type bin struct {
	column  int
	wheres  []uint64 // of the column
	free    []int64
	lean    uint64 // of what is free
	mean    uint64
	pieces  []piece
	tallies []tally
	worth   uint64
}

// ranked is a bin with the score that it has for the kind at hand, in one number:
// the higher, the better, and of equal scores the first bin is the best.
type ranked uint64

// rank needs scores below 2^46 and fewer than 2^16 bins.
func rank(score int64, bin int) ranked {
	return ranked(score+1<<46)<<16 | ranked(math.MaxUint16-bin)
}

func (r ranked) bin() int { return math.MaxUint16 - int(r&math.MaxUint16) }

// spread buys what the linear program would buy, in lots of m nodes that are
// filled alike, and deals the pods out: big ones first, each to the bin that it
// brings nearest to the balance of what is still to come.
func (s *search) spread(prices price.Prices, m int64) []bin {
	bins := s.open(prices, m)
	order := make([]int, 0, len(s.demand.kinds))
	for k := range s.demand.kinds {
		if s.left[k] >= m {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		ka, kb := &s.demand.kinds[a], &s.demand.kinds[b]
		return cmp.Or(-compareBools(ka.binds, kb.binds), cmp.Compare(kb.size, ka.size))
	})
	s.scale.start(s, prices, bins, order, m)
	for i, k := range order {
		n := s.left[k] / m
		s.scale.take(&s.demand.kinds[k], n)
		if i%4 == 0 {
			s.scale.weigh()
			for j := range bins {
				bins[j].lean, bins[j].mean = s.scale.lean(bins[j].free, s.scale.none)
			}
		}
		s.deal(bins, k, n)
	}
	return bins
}

func compareBools(a, b bool) int { return cmp.Compare(bit(a), bit(b)) }

func (s *search) open(prices price.Prices, m int64) []bin {
	bins := s.bins[:0]
	for i := range s.supply.columns {
		n := s.atMost(&s.supply.columns[i], prices.Buys[i]/1024)
		for range n / m {
			bins = append(bins, bin{column: i})
		}
	}
	d := len(s.resources.dims)
	s.bins, s.frees, s.pieces = bins, slices.Grow(s.frees[:0], d*len(bins)), slices.Grow(s.pieces[:0], usual*len(bins))
	frees, pieces := s.frees[:d*len(bins)], s.pieces[:usual*len(bins)]
	for i := range bins {
		b, col := &bins[i], &s.supply.columns[bins[i].column]
		b.wheres, b.free, b.pieces = col.wheres, frees[i*d:(i+1)*d:(i+1)*d], pieces[i*usual:i*usual:(i+1)*usual]
		copy(b.free, col.room)
	}
	return bins
}

// deal gives n pods of the kind to each of a lot, one or a few at a time to the
// bin with the best score.
func (s *search) deal(bins []bin, k int, n int64) {
	kd, worth := &s.demand.kinds[k], s.values.worth[k]
	heap := s.heap[:0]
	for i := range bins {
		if score, ok := s.rate(&bins[i], kd); ok {
			heap = append(heap, rank(score, i))
		}
	}
	s.heap = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for n > 0 && len(heap) > 0 {
		i := heap[0].bin()
		b := &bins[i]
		take := int64(1)
		if n > 1 && fits32(kd.need, b.free) {
			take = min(n, room(kd.need, b.free)/16)
		}
		if kd.roles != nil {
			take = min(take, s.rules.allowed(kd, b.tallies))
			b.tallies = enter(kd, b.tallies, take)
		}
		for d, need := range kd.need {
			b.free[d] -= need * take
		}
		b.worth = min(b.worth+worth*uint64(take), maxWorth)
		if l := len(b.pieces); l > 0 && b.pieces[l-1].kind == k {
			b.pieces[l-1].count += take
		} else {
			b.pieces = append(b.pieces, piece{k, take})
		}
		n -= take
		b.lean, b.mean = s.scale.lean(b.free, s.scale.none)
		if score, ok := s.rate(b, kd); ok {
			heap[0] = rank(score, i)
		} else {
			last := len(heap) - 1
			heap[0] = heap[last]
			heap = heap[:last]
		}
		sink(heap, 0)
	}
}

// fits32 says whether at least 32 pods fit, without dividing.
func fits32(need, free []int64) bool {
	for d, n := range need {
		if n > free[d]>>5 {
			return false
		}
	}
	return true
}

// sink restores the order of the heap below i: the best first.
func sink(heap []ranked, i int) {
	if i >= len(heap) {
		return
	}
	x := heap[i]
	for {
		child := 2*i + 1
		if child >= len(heap) {
			break
		}
		best := heap[child]
		if right := child + 1; right < len(heap) && heap[right] > best {
			child, best = right, heap[right]
		}
		if best < x {
			break
		}
		heap[i] = best
		i = child
	}
	heap[i] = x
}

// rate scores the bin for one more pod of the kind; false where it does not fit.
func (s *search) rate(b *bin, kd *kind) (score int64, fits bool) {
	if b.wheres[kd.where>>6]>>(kd.where&63)&1 == 0 || !fit(kd.need, b.free) || kd.roles != nil && s.rules.allowed(kd, b.tallies) == 0 {
		return 0, false
	}
	after, _ := s.scale.lean(b.free, kd.units)
	return int64(b.lean) - int64(after) - int64(b.mean>>(s.tight-5)), true
}

// keep takes the bins that are full enough and reports whether there were any.
func (s *search) keep(bins []bin, m int64, full uint64) bool {
	kept := false
	for i := range bins {
		kept = s.keepBin(&bins[i], m, full) || kept
	}
	return kept
}

// keepBin takes the bin if it is full enough, shrunk to the cheapest column that
// holds it.
func (s *search) keepBin(b *bin, m int64, full uint64) bool {
	if len(b.pieces) == 0 {
		return false
	}
	f := filling{pieces: b.pieces, worth: b.worth, used: make([]int64, len(s.resources.dims))}
	for d, r := range s.supply.columns[b.column].room {
		f.used[d] = r - b.free[d]
	}
	to := s.rightSize(b.column, &f, m)
	col := &s.supply.columns[to]
	price := uint64(col.price)
	if col.nodes >= 0 {
		price = max(price, s.values.full[to])
		if !s.has(col, m) {
			return false
		}
	}
	ph, pl := bits.Mul64(price, full)
	wh, wl := bits.Mul64(f.worth, 1024)
	if ph > wh || ph == wh && pl > wl {
		return false
	}
	s.plan.buy(to, &f, m)
	return true
}
