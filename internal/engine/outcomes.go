package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// sortOutcomes sorts by group, then verdict, then place. Keys of groups are long
// and similar, so each distinct key is compared once, not once for each outcome.
func sortOutcomes(list []plan.Outcome) {
	order, rank := make([]int, len(list)), make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return o.On })
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return string(o.Verdict) })
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return o.Group })
	for i := range order { // each permutation cycle is moved in place
		first, to := list[i], i
		for from := order[to]; from >= 0; from = order[to] {
			order[to] = -1
			if from == i {
				list[to] = first
				break
			}
			list[to], to = list[from], from
		}
	}
}

// sortBy returns the order sorted by the key of each outcome; equal keys keep their
// order. The rank is scratch space, one entry for each outcome.
func sortBy(order []int, list []plan.Outcome, rank []int, key func(*plan.Outcome) string) []int {
	number := map[string]int{}
	var keys []string
	for i := range list {
		k := key(&list[i])
		if i > 0 && k == key(&list[i-1]) {
			rank[i] = rank[i-1]
			continue
		}
		n, known := number[k]
		if !known {
			n = len(keys)
			number[k] = n
			keys = append(keys, k)
		}
		rank[i] = n
	}
	if len(keys) == 1 {
		return order
	}
	slices.Sort(keys)
	to := make([]int, len(keys))
	for i, k := range keys {
		to[number[k]] = i
	}
	first := make([]int, len(keys)+1)
	for i := range rank {
		rank[i] = to[rank[i]]
		first[rank[i]+1]++
	}
	for i := range keys {
		first[i+1] += first[i]
	}
	sorted := make([]int, len(order))
	for _, i := range order {
		sorted[first[rank[i]]] = i
		first[rank[i]]++
	}
	return sorted
}
