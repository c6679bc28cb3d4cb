package pack

import (
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// piece is how many pods of a kind one bin holds.
type piece struct {
	kind  int
	count int64
}

// filling is the content of one bin.
type filling struct {
	pieces []piece
	used   []int64
	worth  uint64
}

// filler fills single bins. What it owns is scratch: between two bins it remembers
// nothing.
type filler struct {
	demand    *demand
	resources *resources
	rules     rules
	values    *values
	trace     *Trace

	free    []int64
	step    []int64  // an eighth of the bin
	scarce  []uint64 // per dimension: 2^40 over the free units
	open    []int    // kinds that may still be put in
	runs    []run    // the open kinds by shape
	best    []int    // the runs to take from next, the best first
	next    []int    // kinds to take next
	placed  []int64  // per kind
	tallies []tally  // per rule
	touched []int    // rules with a tally
}

// run is the open kinds of one shape. They weigh the same and need the same.
type run struct {
	from, to int // places in open
	score    uint64
}

func newFiller(c *core, v *values) *filler {
	d := len(c.resources.dims)
	return &filler{
		demand: &c.demand, resources: &c.resources, rules: c.rules, values: v, trace: &c.trace,
		free: make([]int64, d), step: make([]int64, d), scarce: make([]uint64, d),
		placed: make([]int64, len(c.demand.kinds)), tallies: make([]tally, len(c.rules)),
	}
}

// fill fills one bin of the column with what is left, and keeps the resources in
// balance: again and again it takes the kind with the most weight for its share of
// the free resources, at most an eighth of the bin at a time. With large, it
// begins with the kinds that fit nothing smaller. Without any of them, the bin
// stays empty.
func (f *filler) fill(col *column, left []int64, large bool, out *filling) {
	f.trace.Fills++
	copy(f.free, col.room)
	for d, r := range col.room {
		f.step[d] = r / 8
	}
	out.pieces, out.worth = out.pieces[:0], 0
	if large {
		f.admit(col, left, true)
		f.pour(left, out)
	}
	if !large || len(out.pieces) > 0 {
		f.admit(col, left, false)
		f.pour(left, out)
	}
	f.close(col, out, 0)
}

// add puts more of what is left into a bin. The kinds that are left must be other
// kinds than the bin holds, without a rule in common with them.
func (f *filler) add(col *column, left []int64, out *filling) {
	for d, r := range col.room {
		f.free[d], f.step[d] = r-out.used[d], r/8
	}
	from := len(out.pieces)
	f.admit(col, left, false)
	f.pour(left, out)
	f.close(col, out, from)
}

// close writes down the content, of which the pieces from the given one on are new.
func (f *filler) close(col *column, out *filling, from int) {
	if out.used == nil {
		out.used = make([]int64, len(f.resources.dims))
	}
	for d, r := range col.room {
		out.used[d] = r - f.free[d]
	}
	for i := range out.pieces[from:] {
		p := &out.pieces[from+i]
		p.count, f.placed[p.kind] = f.placed[p.kind], 0
	}
	for _, r := range f.touched {
		f.tallies[r] = tally{}
	}
	f.touched = f.touched[:0]
}

// admit opens the kinds that are left and that the column takes.
func (f *filler) admit(col *column, left []int64, large bool) {
	f.open, f.runs = f.open[:0], f.runs[:0]
	for shape := range f.demand.shapes {
		k, end := f.demand.first[shape], f.demand.first[shape+1]
		for k < end && left[k] == 0 {
			k++
		}
		if k == end || large && !f.demand.kinds[k].large || !col.takes(&f.demand.kinds[k]) {
			continue
		}
		from := len(f.open)
		for ; k < end; k++ {
			if left[k] != 0 {
				f.open = append(f.open, k)
			}
		}
		f.runs = append(f.runs, run{from: from, to: len(f.open)})
	}
}

// pour goes over the open kinds again and again. Of many kinds it takes a few
// of the best each time.
func (f *filler) pour(left []int64, out *filling) {
	for f.pick(left) {
		for _, k := range f.next {
			f.put(k, left, out)
		}
	}
}

// put adds pods of the kind: an eighth of the bin at most, but not less than one.
func (f *filler) put(k int, left []int64, out *filling) {
	kd := &f.demand.kinds[k]
	n := min(room(kd.need, f.free), f.more(k, left), max(1, room(kd.need, f.step)))
	if n <= 0 {
		return
	}
	for _, role := range kd.roles {
		t := &f.tallies[role.Rule]
		if !t.bound && t.counted == 0 {
			f.touched = append(f.touched, role.Rule)
		}
		t.bound = t.bound || role.Binds
		if role.Counts {
			t.counted += n
		}
	}
	if f.placed[k] == 0 {
		out.pieces = append(out.pieces, piece{kind: k})
	}
	f.placed[k] += n
	for d, need := range kd.need {
		f.free[d] -= need * n
	}
	out.worth = min(out.worth+f.values.worth[k]*uint64(n), maxWorth)
}

// more is how many pods of the kind are left and let in by the rules, whatever the
// room.
func (f *filler) more(k int, left []int64) int64 {
	n := left[k] - f.placed[k]
	for _, role := range f.demand.kinds[k].roles {
		n = min(n, f.rules.lets(role, f.tallies[role.Rule]))
	}
	return n
}

// pick finds the kinds to take next, the best first; false where nothing fits
// any more.
func (f *filler) pick(left []int64) bool {
	for d, r := range f.free {
		f.scarce[d] = (1 << 40) / max(1, f.resources.units(d, r))
	}
	open := 0
	for _, r := range f.runs {
		open += r.to - r.from
	}
	many := 1 + open/128
	rest := f.runs[:0]
	f.best, f.next = f.best[:0], f.next[:0]
	for _, r := range f.runs {
		if r.from == r.to || !quantity.Fits(f.demand.kinds[f.open[r.from]].need, f.free) {
			continue
		}
		for r.from < r.to && f.more(f.open[r.from], left) <= 0 {
			r.from++
		}
		if r.from == r.to {
			continue
		}
		k, share := f.open[r.from], uint64(1)
		for d, q := range f.demand.kinds[k].units {
			share = max(share, q*f.scarce[d]>>20)
		}
		rest = append(rest, r)
		f.offer(len(rest)-1, many, f.values.weight[k]<<20, share)
	}
	f.runs = rest
	for _, x := range f.best {
		r, from := &f.runs[x], len(f.next)
		i := r.from
		for ; i < r.to && len(f.next) < many; i++ {
			if f.more(f.open[i], left) > 0 {
				f.next = append(f.next, f.open[i])
			}
		}
		taken := f.next[from:]
		r.from = i - len(taken) // nothing more may be put in of the kinds in between
		copy(f.open[r.from:i], taken)
	}
	return len(f.next) > 0
}

// offer keeps the run if it is among the best by weight for its share. Of equal
// runs the first is better. Most runs are not kept, and a product shows that faster
// than a quotient.
func (f *filler) offer(x, many int, weight, share uint64) {
	n := len(f.best)
	if n == many {
		if hi, lo := bits.Mul64(f.runs[f.best[n-1]].score+1, share); hi > 0 || lo > weight {
			return
		}
	}
	score := weight / share
	f.runs[x].score = score
	if n < many {
		f.best = append(f.best, x)
		n++
	}
	i := n - 1
	for i > 0 && f.runs[f.best[i-1]].score < score {
		f.best[i] = f.best[i-1]
		i--
	}
	f.best[i] = x
}

// room is how many times the need fits into what is free.
func room(need, free []int64) int64 {
	n := int64(maxCount)
	for d, v := range need {
		if v > 0 {
			n = min(n, free[d]/v)
		}
	}
	return n
}
