package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostBins is about how many bins are dealt to at once. More nodes are filled
// alike, in lots.
const mostBins = 160

// mostExclusive is about how many bins are dealt to at once where nodes are forced. These hold
// a few pods, often of kinds that have no pods for a lot.
const mostExclusive = 4096

// usual is how many kinds a bin holds, about, and how many rules they have a role in.
const usual = 16

// bin is a lot of nodes that are filled alike.
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

// dealer opens many bins at once and deals the kinds out to them, so that all
// resources of all bins run out together. It owns the bins until they are kept.
type dealer struct {
	kinds   []kind
	columns []column
	rules   rules
	plan    *plan
	values  *values
	balance balance

	lot     int64 // nodes that a bin stands for
	tight   uint  // how much a nearly full bin is preferred; see tightness
	byShape bool  // kinds of one shape are dealt together: faster, where bins are many
	bins    []bin
	order   []piece // kinds in the order in which they are dealt, and how many pods a lot has

	frees   []int64 // of all bins
	pieces  []piece // of all bins
	tallies []tally // of all bins
	heap    []ranked
	closed  []ranked // bins that rules close to a kind
	used    []int64
}

func newDealer(c *core, p *plan, v *values) dealer {
	return dealer{
		kinds: c.demand.kinds, columns: c.supply.columns, rules: c.rules, plan: p, values: v,
		balance: newBalance(&c.resources), used: make([]int64, len(c.resources.dims)),
	}
}

// deal opens bins for the nodes that the linear program would buy, and deals the
// pods out: big ones first, each to the bin that it brings nearest to the balance
// of what is still to come. Each bin stands for a lot of so many nodes.
func (d *dealer) deal(prices price.Prices, lot int64, tight uint) {
	d.lot, d.tight = lot, tight
	d.open(prices)
	d.order = d.order[:0]
	for k, left := range d.plan.left {
		if left >= lot {
			d.order = append(d.order, piece{k, left / lot})
		}
	}
	slices.SortStableFunc(d.order, func(a, b piece) int {
		ka, kb := &d.kinds[a.kind], &d.kinds[b.kind]
		return cmp.Or(cmp.Compare(bit(kb.binds), bit(ka.binds)), cmp.Compare(kb.size, ka.size))
	})
	d.balance.start(d.kinds, d.order, prices)
	d.balance.nearlyShort(d.bins)
	for i, n := 0, 0; i < len(d.order); n++ {
		of := d.order[i : i+d.alike(d.order[i:])]
		i += len(of)
		for _, p := range of {
			d.balance.take(&d.kinds[p.kind], p.count)
		}
		if n%4 == 0 {
			d.balance.weigh()
			for j := range d.bins {
				b := &d.bins[j]
				b.lean, b.mean = d.balance.lean(b.free, d.balance.none)
			}
		}
		d.dealShape(of)
	}
}

// alike is how many of the kinds, from the first one on, are dealt together: those of one
// shape, or one.
func (d *dealer) alike(order []piece) int {
	n := 1
	for d.byShape && n < len(order) && d.kinds[order[n].kind].shape == d.kinds[order[0].kind].shape {
		n++
	}
	return n
}

// open makes empty bins of the nodes that the linear program would buy.
func (d *dealer) open(prices price.Prices) {
	bins := d.bins[:0]
	for i := range d.columns {
		for range d.plan.atMost(&d.columns[i], prices.Buys[i]/1024) / d.lot {
			bins = append(bins, bin{column: i})
		}
	}
	dims, rules := len(d.used), min(len(d.rules), usual)
	d.bins, d.frees, d.pieces = bins, slices.Grow(d.frees[:0], dims*len(bins)), slices.Grow(d.pieces[:0], usual*len(bins))
	d.tallies = slices.Grow(d.tallies[:0], rules*len(bins))
	frees, pieces, tallies := d.frees[:dims*len(bins)], d.pieces[:usual*len(bins)], d.tallies[:rules*len(bins)]
	for i := range bins {
		b, col := &bins[i], &d.columns[bins[i].column]
		b.wheres, b.free, b.pieces = col.wheres, frees[i*dims:(i+1)*dims:(i+1)*dims], pieces[i*usual:i*usual:(i+1)*usual]
		b.tallies = tallies[i*rules : i*rules : (i+1)*rules]
		copy(b.free, col.room)
	}
}

// dealShape deals kinds of one shape. They score alike in each bin, so that one heap of
// the bins does for all of them.
func (d *dealer) dealShape(of []piece) {
	heap := d.heap[:0]
	for i := range d.bins {
		if score, ok := d.rate(&d.bins[i], &d.kinds[of[0].kind]); ok {
			heap = append(heap, rank(score, i))
		}
	}
	d.heap = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for _, p := range of {
		heap = d.dealKind(p.kind, p.count, heap)
	}
}

// dealKind deals n pods of the kind, one or a few at a time, each time to the bin
// with the best score. It returns the heap with the bins that still have room for
// the shape.
func (d *dealer) dealKind(k int, n int64, heap []ranked) []ranked {
	kd, each := &d.kinds[k], d.values.worth[k]
	d.closed = d.closed[:0]
	for n > 0 && len(heap) > 0 {
		i := heap[0].bin()
		b := &d.bins[i]
		take := int64(1)
		if n > 1 && fits32(kd.need, b.free) {
			take = min(n, room(kd.need, b.free)/16)
		}
		if kd.roles != nil {
			if take = min(take, d.rules.allowed(kd, b.tallies)); take == 0 {
				d.closed = append(d.closed, heap[0])
				heap = pop(heap)
				continue
			}
			b.tallies = enter(kd, b.tallies, take)
		}
		for r, need := range kd.need {
			b.free[r] -= need * take
		}
		b.worth = min(b.worth+each*uint64(take), maxWorth)
		if l := len(b.pieces); l > 0 && b.pieces[l-1].kind == k {
			b.pieces[l-1].count += take
		} else {
			b.pieces = append(b.pieces, piece{k, take})
		}
		n -= take
		b.lean, b.mean = d.balance.lean(b.free, d.balance.none)
		if score, ok := d.rate(b, kd); ok {
			heap[0] = rank(score, i)
			sink(heap, 0)
		} else {
			heap = pop(heap)
		}
	}
	for _, x := range d.closed { // rules may let in the next kind
		heap = push(heap, x)
	}
	return heap
}

// rate scores the bin for one more pod of the kind, whatever its roles. It returns
// false where the pod does not fit.
func (d *dealer) rate(b *bin, kd *kind) (score int64, fits bool) {
	if b.wheres[kd.where>>6]>>(kd.where&63)&1 == 0 || !quantity.Fits(kd.need, b.free) {
		return 0, false
	}
	after, _ := d.balance.lean(b.free, kd.units)
	return int64(b.lean) - int64(after) - int64(b.mean>>(d.tight-5)), true
}

// keep buys the bins that are full enough and reports whether there were any.
func (d *dealer) keep(full uint64) bool {
	bought := false
	for i := range d.bins {
		bought = d.keepBin(&d.bins[i], full) || bought
	}
	return bought
}

// keepBin buys the bin if it is full enough, shrunk to the cheapest column that
// holds it.
func (d *dealer) keepBin(b *bin, full uint64) bool {
	if len(b.pieces) == 0 {
		return false
	}
	f := filling{pieces: b.pieces, worth: b.worth, used: d.used}
	for r, n := range d.columns[b.column].room {
		f.used[r] = n - b.free[r]
	}
	to := d.plan.rightSize(b.column, &f, d.lot)
	col := &d.columns[to]
	if !d.plan.has(col, d.lot) {
		return false
	}
	minWorth := uint64(col.price)
	if col.nodes >= 0 {
		minWorth = max(minWorth, d.values.full[to])
	}
	ph, pl := bits.Mul64(minWorth, full)
	wh, wl := bits.Mul64(f.worth, 1024)
	if ph > wh || ph == wh && pl > wl {
		return false
	}
	d.plan.buy(to, &f, d.lot)
	return true
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

// ranked is a bin and its score in one number. A higher number is better. Of equal
// scores, the first bin is best.
type ranked uint64

// rank needs scores below 2^46 and fewer than 2^16 bins.
func rank(score int64, bin int) ranked {
	return ranked(score+1<<46)<<16 | ranked(math.MaxUint16-bin)
}

func (r ranked) bin() int { return math.MaxUint16 - int(r&math.MaxUint16) }

// sink restores the order of the heap below i. The best is first.
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

// pop removes the best.
func pop(heap []ranked) []ranked {
	last := len(heap) - 1
	heap[0] = heap[last]
	heap = heap[:last]
	sink(heap, 0)
	return heap
}

// push adds a bin to the heap.
func push(heap []ranked, x ranked) []ranked {
	heap = append(heap, x)
	i := len(heap) - 1
	for i > 0 && heap[(i-1)/2] < x {
		heap[i] = heap[(i-1)/2]
		i = (i - 1) / 2
	}
	heap[i] = x
	return heap
}
