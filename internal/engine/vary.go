package engine

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// vary keeps what is packed on the rows of a group so small that as many
// different ones hold it as the pool's minValues asks for: no more of anything
// than the least that so many of the largest have.
func (s *step) vary(t *tier, p *pack.Problem, group int) {
	var mine []int // indexes into the tier's rows, largest first
	for i, x := range t.rows {
		if s.fleet.Rows[x].Group == group {
			mine = append(mine, i)
		}
	}
	if len(mine) == 0 {
		return
	}
	row := func(i int) *fleet.Row { return &s.fleet.Rows[t.rows[i]] }
	slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(work(row(b).Net), work(row(a).Net)) })
	least := slices.Clone(t.nets[mine[0]])
	for _, m := range s.fleet.Pools[row(mine[0]).Pool].MinValues {
		values := map[string]bool{}
		for _, i := range mine {
			if len(values) >= m.Count {
				break
			}
			note(values, row(i), m.Key)
			for d, n := range t.nets[i] {
				least[d] = min(least[d], n)
			}
		}
	}
	for _, i := range mine {
		net := slices.Clone(t.nets[i])
		for d := range net {
			net[d] = min(net[d], least[d])
		}
		p.Offers[i].Net = net
	}
}
