package pack

import (
	"cmp"
	"slices"
)

// greedy fills bins one pattern at a time: of the fillings of all columns it
// takes the one with the lowest price for its worth, as often as the kinds
// allow. With large, only bins that hold what fits nothing smaller.
func (s *search) greedy(large bool) {
	order := s.byPrice()
	for i := range s.cache {
		s.cache[i].pieces = s.cache[i].pieces[:0]
	}
	for {
		best, to := -1, 0
		for _, i := range order {
			if !s.usable(i) {
				continue
			}
			if best >= 0 && !dearer(s.columns[to].price, s.cache[best].worth, s.columns[i].price, s.columns[i].full) {
				break // even full it would be no cheaper, and so are the rest
			}
			f := &s.cache[i]
			if s.copies(f.pieces) == 0 || !s.usable(s.right[i]) {
				s.filler.fill(&s.columns[i], s.left, large, f)
				s.right[i] = s.rightSize(i, f, 1)
			}
			if len(f.pieces) > 0 && (best < 0 || s.cheaper(i, best)) {
				best, to = i, s.right[i]
			}
		}
		if best < 0 {
			return
		}
		n := s.copies(s.cache[best].pieces)
		if s.columns[to].nodes >= 0 {
			n = min(n, s.nodesLeft[s.columns[to].offer])
		}
		s.apply(to, &s.cache[best], n)
	}
}

// byPrice orders columns by what they cost for the most they could hold.
func (s *search) byPrice() []int {
	order := make([]int, len(s.columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		ca, cb := &s.columns[a], &s.columns[b]
		switch {
		case dearer(ca.price, ca.full, cb.price, cb.full):
			return 1
		case dearer(cb.price, cb.full, ca.price, ca.full):
			return -1
		}
		return cmp.Compare(cb.full, ca.full)
	})
	return order
}

// cheaper compares the fillings of two columns, each shrunk.
func (s *search) cheaper(i, j int) bool {
	pi, pj := s.columns[s.right[i]].price, s.columns[s.right[j]].price
	wi, wj := s.cache[i].worth, s.cache[j].worth
	if dearer(pj, wj, pi, wi) {
		return true
	}
	return !dearer(pi, wi, pj, wj) && wi > wj
}

// copies is how often the content is left.
func (s *search) copies(pieces []piece) int64 {
	if len(pieces) == 0 {
		return 0
	}
	n := int64(maxCount)
	for _, p := range pieces {
		n = min(n, s.left[p.kind]/p.count)
	}
	return n
}
