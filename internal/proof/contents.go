package proof

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostContents is how many contents of a place the checker looks at. Where there are
// more, it takes a number that no content exceeds.
const mostContents = 50_000

// allContents limits the contents of all places together.
const allContents = 500_000

// surcharges is the most that pods which fit on the place together have in
// surcharges, or so much if that is more.
func (p *proof) surcharges(x place, above *big.Int) *big.Int {
	c := contents{best: new(big.Int), limit: min(mostContents, allContents-p.seen)}
	var needs []quantity.Resources
	for _, g := range p.groups {
		if g.surcharge > 0 && slices.ContainsFunc(g.shapes, x.holds) {
			c.kinds, needs = append(c.kinds, piled{g.surcharge, g.count, nil}), append(needs, g.need)
		}
	}
	if len(c.kinds) == 0 {
		return c.best
	}
	if above.Sign() > 0 {
		c.best = above
	}
	c.measure(x.room, needs, p.resources())
	asked := fmt.Sprint(c.room, c.kinds, above)
	if known, ok := p.contents[asked]; ok { // zones are often alike
		return known
	}
	c.compare()
	start := left{room: c.room, worth: new(big.Int)}
	for range c.sums {
		start.sums = append(start.sums, 8*whole20)
	}
	c.search(0, start)
	if p.seen += c.seen; c.seen > c.limit {
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
	slices.Sort(names)
	return slices.Compact(names)
}

// contents looks at what one place can hold.
type contents struct {
	kinds []piled
	room  []int64
	sums  [][]int64  // per way to add resources up: the weights of the resources, eighths in all
	sizes [][]int64  // per kind and sum
	dense [][]int    // per kind and sum: of this kind and those behind it, the one that is worth most for its size; -1 where one has no size
	all   []*big.Int // per kind: what all pods of this kind and of those behind it are worth
	limit int
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

// measure writes needs and room in resources. Kinds of equal need and worth become
// one, and the kinds that are worth most for their size come first.
func (c *contents) measure(room quantity.Resources, needs []quantity.Resources, names []string) {
	for _, name := range names {
		c.room = append(c.room, max(0, room.Get(name)))
	}
	var kinds []piled
	for i, k := range c.kinds {
		for _, name := range names {
			k.need = append(k.need, max(0, needs[i].Get(name)))
		}
		at := slices.IndexFunc(kinds, func(o piled) bool { return o.worth == k.worth && slices.Equal(o.need, k.need) })
		if at >= 0 {
			kinds[at].count = addUp(kinds[at].count, k.count)
			continue
		}
		kinds = append(kinds, k)
	}
	size := func(k piled) (sum int64) {
		for d := range c.room {
			sum += c.part(k, d)
		}
		return max(1, sum)
	}
	slices.SortStableFunc(kinds, func(a, b piled) int {
		return new(big.Int).Mul(big.NewInt(b.worth), big.NewInt(size(a))).Cmp(new(big.Int).Mul(big.NewInt(a.worth), big.NewInt(size(b))))
	})
	c.kinds = kinds
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

// compare finds the sums of resources that bounds go by, and what they say of the
// kinds.
func (c *contents) compare() {
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
	for _, k := range c.kinds {
		var sizes []int64
		for _, weights := range c.sums {
			sizes = append(sizes, c.size(k, weights))
		}
		c.sizes = append(c.sizes, sizes)
	}
	c.dense, c.all = make([][]int, len(c.kinds)+1), make([]*big.Int, len(c.kinds)+1)
	c.dense[len(c.kinds)], c.all[len(c.kinds)] = make([]int, len(c.sums)), new(big.Int)
	for i := len(c.kinds) - 1; i >= 0; i-- {
		k := c.kinds[i]
		c.all[i] = new(big.Int).Mul(big.NewInt(k.worth), big.NewInt(k.count))
		c.all[i].Add(c.all[i], c.all[i+1])
		c.dense[i] = slices.Clone(c.dense[i+1])
		for j, size := range c.sizes[i] {
			switch at := c.dense[i][j]; {
			case size == 0:
				c.dense[i][j] = -1
			case i == len(c.kinds)-1 || at >= 0 && new(big.Int).Mul(big.NewInt(k.worth), big.NewInt(c.sizes[at][j])).Cmp(new(big.Int).Mul(big.NewInt(c.kinds[at].worth), big.NewInt(size))) > 0:
				c.dense[i][j] = i
			}
		}
	}
}

// search tries all numbers of the kind at i beside the content, the highest first, and
// leaves out what cannot be worth more than the best content.
func (c *contents) search(i int, x left) {
	if x.worth.Cmp(c.best) > 0 {
		c.best = x.worth
	}
	if i == len(c.kinds) {
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
	for ; n >= 0 && c.seen <= c.limit; n-- {
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
	tightest := new(big.Int).Set(c.all[i])
	if i == len(c.kinds) {
		return tightest
	}
	one := new(big.Int)
	for j, at := range c.dense[i] {
		if at < 0 {
			continue // the sum says nothing about some kind
		}
		one.Mul(big.NewInt(c.kinds[at].worth), big.NewInt(x.sums[j]))
		if one.Div(one, big.NewInt(c.sizes[at][j])); one.Cmp(tightest) < 0 {
			tightest.Set(one)
		}
	}
	return tightest
}
