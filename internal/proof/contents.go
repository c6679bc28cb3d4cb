package proof

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostContents is how many contents of a place the checker looks at. Where there are
// more, it takes a number that no content exceeds.
const mostContents = 50_000

// surcharges is the most that pods which fit on the place together have in
// surcharges, or so much if that is more.
func (p *proof) surcharges(x place, above *big.Int) *big.Int {
	var c contents
	for _, g := range p.groups {
		if g.surcharge == 0 || !slices.ContainsFunc(g.shapes, x.holds) {
			continue
		}
		c.kinds = append(c.kinds, piled{g.surcharge, g.count, nil})
		need := g.need
		for name, s := range p.sets { // each pod takes the one place that a node has for the set
			if slices.Contains(s.groups, g) && s.rules[0].spread == nil {
				need = need.Extend(name, 1)
			}
		}
		c.needs = append(c.needs, need)
	}
	c.best = new(big.Int)
	if len(c.kinds) == 0 {
		return c.best
	}
	if above.Sign() > 0 {
		c.best = above
	}
	asked := fmt.Sprint(x.room, c.kinds, c.needs, above)
	if known, ok := p.contents[asked]; ok { // zones are often alike
		return known
	}
	c.measure(x.room, p.resources())
	start := left{room: c.room}
	for range c.sums {
		start.sums = append(start.sums, 8*whole20)
	}
	start.worth = new(big.Int)
	c.search(0, start)
	if c.seen > mostContents {
		c.best = c.bound(0, start)
	}
	p.contents[asked] = c.best
	return c.best
}

// resources lists the names of all that pods of the certificate may need.
func (p *proof) resources() []string {
	names := []string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}
	for _, g := range p.groups {
		for _, l := range g.need.Lacking(quantity.Resources{}) {
			if !cluster.IsAttachSlots(l.Resource) {
				names = append(names, l.Resource)
			}
		}
	}
	for _, d := range p.certificate.Dimensions {
		if plan.IsExclusive(d.Resource) {
			names = append(names, d.Resource)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// contents looks at what one place can hold.
type contents struct {
	kinds []piled
	needs []quantity.Resources
	room  []int64
	sums  [][]int64 // per way to add resources up: the weights of the resources, eighths in all
	sizes [][]int64 // per kind and sum
	seen  int
	best  *big.Int
}

// left is what is left of a place beside a content, and what the content is worth.
type left struct {
	room, sums []int64
	worth      *big.Int
}

// piled is one group on the place.
type piled struct {
	worth, count int64
	need         []int64 // per resource
}

// measure writes needs and room in resources, and puts the kinds first that are worth
// most for their size.
func (c *contents) measure(room quantity.Resources, names []string) {
	for _, name := range names {
		c.room = append(c.room, max(0, room.Get(name)))
	}
	for i := range c.kinds {
		for _, name := range names {
			c.kinds[i].need = append(c.kinds[i].need, max(0, c.needs[i].Get(name)))
		}
	}
	var large []int
	for d := range c.room {
		one, most := make([]int64, len(c.room)), int64(0)
		for _, k := range c.kinds {
			most = max(most, c.part(k, d))
		}
		if one[d] = 8; most > 0 {
			c.sums = append(c.sums, one)
		}
		if most > whole20/64 {
			large = append(large, d)
		}
	}
	for i, d := range large {
		for _, e := range large[i+1:] {
			for n := int64(1); n < 8; n++ {
				sum := make([]int64, len(c.room))
				sum[d], sum[e] = n, 8-n
				c.sums = append(c.sums, sum)
			}
		}
	}
	all := make([]int64, len(c.room))
	for d := range all {
		all[d] = 1
	}
	slices.SortStableFunc(c.kinds, func(a, b piled) int {
		return cmp.Compare(b.worth/(1+c.size(b, all)), a.worth/(1+c.size(a, all)))
	})
	for _, k := range c.kinds {
		var sizes []int64
		for _, weights := range c.sums {
			sizes = append(sizes, c.size(k, weights))
		}
		c.sizes = append(c.sizes, sizes)
	}
}

// search tries all numbers of the kind at i beside the content, the highest first, and
// leaves out what cannot be worth more than the best content.
func (c *contents) search(i int, x left) {
	if x.worth.Cmp(c.best) > 0 {
		c.best = x.worth
	}
	if i == len(c.kinds) || c.seen > mostContents {
		return
	}
	if most := c.bound(i, x); most.Add(most, x.worth).Cmp(c.best) <= 0 {
		return
	}
	k := c.kinds[i]
	n := k.count
	for d, need := range k.need {
		if need > 0 {
			n = min(n, x.room[d]/need)
		}
	}
	for ; n >= 0; n-- {
		c.seen++
		y := left{slices.Clone(x.room), slices.Clone(x.sums), new(big.Int).Mul(big.NewInt(k.worth), big.NewInt(n))}
		y.worth.Add(y.worth, x.worth)
		for d, need := range k.need {
			y.room[d] -= n * need
		}
		for j, size := range c.sizes[i] {
			y.sums[j] -= n * size
		}
		c.search(i+1, y)
	}
}

// bound is what the kinds from i on are worth at most in what is left: all of their
// pods, or, of each sum of resources, the kind that is worth most for its size.
func (c *contents) bound(i int, x left) *big.Int {
	least := new(big.Int)
	for _, k := range c.kinds[i:] {
		least.Add(least, new(big.Int).Mul(big.NewInt(k.worth), big.NewInt(k.count)))
	}
	for j := range c.sums {
		most := new(big.Int)
		for at := i; at < len(c.kinds) && most != nil; at++ {
			if c.sizes[at][j] == 0 {
				most = nil // the sum says nothing about the kind
				continue
			}
			one := new(big.Int).Mul(big.NewInt(c.kinds[at].worth), big.NewInt(x.sums[j]))
			if one.Div(one, big.NewInt(c.sizes[at][j])); one.Cmp(most) > 0 {
				most = one
			}
		}
		if most != nil && most.Cmp(least) < 0 {
			least = most
		}
	}
	return least
}

// whole20 is the size of all room in one resource.
const whole20 = 1 << 20

// part is what a pod takes of the room's resource, rounded down: so the parts of pods
// that fit together add up to no more than the whole.
func (c *contents) part(k piled, d int) int64 {
	if k.need[d] == 0 || c.room[d] == 0 {
		return 0
	}
	n := new(big.Int).Lsh(big.NewInt(k.need[d]), 20)
	return n.Div(n, big.NewInt(c.room[d])).Int64()
}

func (c *contents) size(k piled, weights []int64) (sum int64) {
	for d, w := range weights {
		if w > 0 {
			sum += w * c.part(k, d)
		}
	}
	return sum
}
