package pack

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

// filler fills single bins; it owns the scratch space.
type filler struct {
	*core
	free    []int64
	step    []int64  // an eighth of the bin
	scarce  []uint64 // per dimension: 2^40 over the free units
	open    []int    // kinds that may still go in
	best    []int    // of them, those to take next
	score   []uint64 // of the best
	placed  []int64  // per kind
	tallies []tally
}

func newFiller(c *core) filler {
	d := len(c.dims)
	return filler{core: c, free: make([]int64, d), step: make([]int64, d), scarce: make([]uint64, d), placed: make([]int64, len(c.kinds))}
}

// fill puts into one bin of the column what is left, keeping the resources in
// balance: again and again it takes the kind with the most weight for the share
// of what is free that it needs, at most an eighth of the bin at a time. With
// large it begins with the kinds that fit nothing smaller, and without any of
// them the bin stays empty.
func (f *filler) fill(col *column, left []int64, large bool, out *filling) {
	f.trace.Fills++
	copy(f.free, col.room)
	for d, r := range col.room {
		f.step[d] = r / 8
	}
	f.tallies = f.tallies[:0]
	out.pieces, out.worth = out.pieces[:0], 0
	if large {
		f.admit(col, left, true)
		f.pour(left, out)
	}
	if !large || len(out.pieces) > 0 {
		f.admit(col, left, false)
		f.pour(left, out)
	}
	if out.used == nil {
		out.used = make([]int64, len(f.dims))
	}
	for d, r := range col.room {
		out.used[d] = r - f.free[d]
	}
	for i := range out.pieces {
		p := &out.pieces[i]
		p.count, f.placed[p.kind] = f.placed[p.kind], 0
	}
}

func (f *filler) admit(col *column, left []int64, large bool) {
	f.open = f.open[:0]
	for k := range f.kinds {
		if left[k] > 0 && (!large || f.kinds[k].large) && col.takes(&f.kinds[k]) {
			f.open = append(f.open, k)
		}
	}
}

// pour goes over the open kinds again and again. Of many kinds it takes a few
// of the best each time.
func (f *filler) pour(left []int64, out *filling) {
	for f.pick(left) {
		for _, k := range f.best {
			f.put(k, left, out)
		}
	}
}

func (f *filler) put(k int, left []int64, out *filling) {
	kd := &f.kinds[k]
	n := min(room(kd.need, f.free), left[k]-f.placed[k], max(1, room(kd.need, f.step)))
	if n > 0 && kd.roles != nil {
		n = min(n, f.allowed(kd, f.tallies))
	}
	if n <= 0 {
		return
	}
	if kd.roles != nil {
		f.tallies = f.enter(kd, f.tallies, n)
	}
	if f.placed[k] == 0 {
		out.pieces = append(out.pieces, piece{kind: k})
	}
	f.placed[k] += n
	for d, need := range kd.need {
		f.free[d] -= need * n
	}
	out.worth = min(out.worth+kd.worth*uint64(n), 1<<62)
}

// pick finds the kinds to take next, the best first; false where nothing fits
// any more.
func (f *filler) pick(left []int64) bool {
	for d, r := range f.free {
		f.scarce[d] = (1 << 40) / max(1, uint64(r)>>f.shift[d])
	}
	kept := f.open[:0]
	f.best, f.score = f.best[:0], f.score[:0]
	many := 1 + len(f.open)/128
	for _, k := range f.open {
		kd := &f.kinds[k]
		if left[k] <= f.placed[k] || !fit(kd.need, f.free) || kd.roles != nil && f.allowed(kd, f.tallies) == 0 {
			continue
		}
		kept = append(kept, k)
		share := uint64(1)
		for d, q := range kd.units {
			share = max(share, q*f.scarce[d]>>20)
		}
		f.offer(k, kd.weight<<20/share, many)
	}
	f.open = kept
	return len(f.best) > 0
}

// offer keeps the kind if it is among the best so many; of equals the first.
func (f *filler) offer(k int, score uint64, many int) {
	n := len(f.best)
	if n == many && score <= f.score[n-1] {
		return
	}
	if n < many {
		f.best, f.score = append(f.best, k), append(f.score, score)
		n++
	}
	i := n - 1
	for i > 0 && f.score[i-1] < score {
		f.best[i], f.score[i] = f.best[i-1], f.score[i-1]
		i--
	}
	f.best[i], f.score[i] = k, score
}

func fit(need, free []int64) bool {
	for d, n := range need {
		if n > free[d] {
			return false
		}
	}
	return true
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
