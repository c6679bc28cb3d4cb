package pack

import (
	"cmp"
	"slices"
)

// refills is how many fillings a round of greedy tries at most.
const refills = 10

// greedy fills bins one pattern at a time. It knows for each column how little
// a full node, or its last filling, cost for its worth; it fills the most
// promising columns with what is left, and takes the best filling as often as
// the kinds allow. With large, only bins that hold what fits nothing smaller.
func (s *search) greedy(large bool) {
	s.greedyOn(s.byPrice(s.supply.sample), large)
	if slices.ContainsFunc(s.left, func(n int64) bool { return n > 0 }) {
		s.greedyOn(s.byPrice(slices.Repeat([]bool{true}, len(s.supply.columns))), large) // what only one offer holds, and it was thinned out
	}
}

func (s *search) greedyOn(order []int, large bool) {
	for i := range s.cache {
		s.cache[i].pieces = s.cache[i].pieces[:0]
		s.cache[i].worth = max(1, s.values.full[i])
		s.right[i] = i
	}
	fresh := make([]bool, len(s.supply.columns))
	for {
		clear(fresh)
		best := -1
		for tried := 0; tried < refills || best < 0; tried++ {
			i := s.promising(order, fresh, best)
			if i < 0 {
				break
			}
			fresh[i] = true
			f := &s.cache[i]
			if s.copies(f.pieces) == 0 || !s.usable(s.right[i]) {
				s.filler.fill(&s.supply.columns[i], s.left, large, f)
				s.right[i] = s.rightSize(i, f, 1)
			}
			if len(f.pieces) > 0 && (best < 0 || s.cheaper(i, best)) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		n := s.copies(s.cache[best].pieces)
		to := s.right[best]
		s.plan.buy(to, &s.cache[best], s.atMost(&s.supply.columns[to], n))
	}
}

// promising is the column that looked cheapest for its worth and has not been
// tried; -1 where none looked cheaper than the best. Columns that hold nothing
// any more have no worth.
func (s *search) promising(order []int, fresh []bool, best int) int {
	at := best
	for _, i := range order {
		if !fresh[i] && s.cache[i].worth > 0 && s.usable(i) && (at < 0 || s.cheaper(i, at)) {
			at = i
		}
	}
	if at == best {
		return -1
	}
	return at
}

// byPrice orders the columns of the sample by what they cost for the most they could hold.
func (s *search) byPrice(sample []bool) []int {
	order := make([]int, 0, len(s.supply.columns))
	for i := range s.supply.columns {
		if sample[i] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		pa, pb := s.supply.columns[a].price, s.supply.columns[b].price
		fa, fb := s.values.full[a], s.values.full[b]
		switch {
		case dearer(pa, fa, pb, fb):
			return 1
		case dearer(pb, fb, pa, fa):
			return -1
		}
		return cmp.Compare(fb, fa)
	})
	return order
}

// cheaper compares the fillings of two columns, each shrunk.
func (s *search) cheaper(i, j int) bool {
	pi, pj := s.supply.columns[s.right[i]].price, s.supply.columns[s.right[j]].price
	wi, wj := s.cache[i].worth, s.cache[j].worth
	if dearer(pj, wj, pi, wi) {
		return true
	}
	return !dearer(pi, wi, pj, wj) && wi > wj
}
