package price

import (
	"cmp"
	"slices"
)

// enough is a part of the bound. A shortage that is worth less does not get a
// dimension.
const enough = 1e-4

// count adds dimensions that count nodes: resources of which every node has one. It
// adds the scarcest, one at a time, for as long as the linear program would buy
// fewer nodes than there are pods that need one. Most such resources are never
// added.
func (c *part) count() {
	for {
		var scarcest candidate
		for r, single := range c.single {
			d := Dimension{r, 1}
			if !single || slices.Contains(c.dims, d) {
				continue
			}
			for i, g := range c.groups {
				if worth := short(1, c.needs(r, g), c.stock(r, i)); worth > max(scarcest.worth, tiny) {
					scarcest = candidate{d, worth}
				}
			}
		}
		if scarcest.Unit == 0 {
			return
		}
		c.dims = append(c.dims, scarcest.Dimension)
		c.solve()
	}
}

// cut adds dimensions with larger units for as long as the offers that the linear
// program would buy are short of whole units.
func (c *part) cut() {
	base := c.basePrices()
	for cuts := 0; cuts < c.Cuts; {
		var found []candidate
		for _, d := range c.dims {
			if d.Unit > 1 || c.single[d.Resource] {
				continue
			}
			if best, ok := c.shortest(d.Resource, base[d.Resource]); ok {
				found = append(found, best)
			}
		}
		if len(found) == 0 {
			return
		}
		slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.worth, a.worth) })
		for _, f := range found[:min(len(found), c.Cuts-cuts)] {
			c.dims = append(c.dims, f.Dimension)
			cuts++
		}
		c.solve()
	}
}

// candidate is a dimension that could be added, and what its shortage is worth.
type candidate struct {
	Dimension
	worth float64
}

// basePrices are rough prices of the resources, for comparing shortages.
func (c *part) basePrices() []float64 {
	out := make([]float64, c.Resources)
	for i := range c.groups {
		for j, d := range c.dims {
			out[d.Resource] = max(out[d.Resource], c.prices[i][j])
		}
	}
	return out
}

// shortest finds the unit of the resource that the offers used are shortest of. By
// Hall's condition, it is enough to look at one group at a time, with all groups
// whose offers are among the offers of that group: only those offers can give what
// these groups need together.
func (c *part) shortest(resource int, price float64) (candidate, bool) {
	var best candidate
	for i, g := range c.groups {
		needs := c.needs(resource, g)
		if len(needs) == 0 {
			continue
		}
		stock := c.stock(resource, i)
		for _, unit := range units(needs, stock) {
			d := Dimension{resource, unit}
			if slices.Contains(c.dims, d) {
				continue
			}
			worth := short(unit, needs, stock) * float64(unit) * price
			if worth > best.worth && worth > enough*c.bound {
				best = candidate{d, worth}
			}
		}
	}
	return best, best.Unit > 0
}

// stock lists the capacities of the offers used that the group at i can use.
func (c *part) stock(resource, i int) []sized {
	var out []sized
	for k, amount := range c.used {
		if amount > tiny && has(c.model.groups[c.groups[i]].offers, c.offers[k]) {
			out = append(out, sized{c.Offers[c.offers[k]].Capacity[resource], amount})
		}
	}
	return out
}

// short is how many units the stock is short of.
func short(unit int64, needs, stock []sized) float64 {
	short := 0.0
	for _, n := range needs {
		if n.size < unit {
			break
		}
		short += float64(float64(n.size/unit) * n.count)
	}
	for _, o := range stock {
		short -= float64(o.count * float64(o.size/unit))
	}
	return short
}

// sized is so many pods or nodes of one size in a resource.
type sized struct {
	size  int64
	count float64
}

// needs lists the sizes of pods that are large beside the offers, the largest
// first. It looks at the groups whose offers are among the offers of the group.
func (c *part) needs(resource, group int) []sized {
	var out []sized
	within := c.model.groups[group].offers
	for _, g := range c.groups {
		if !covers(within, c.model.groups[g].offers) {
			continue
		}
		for _, k := range c.model.groups[g].classes {
			if n := c.Classes[k].Need[resource]; n > c.largest[resource]/16 && (n > 1 || c.single[resource]) {
				out = append(out, sized{n, float64(c.Classes[k].Count)})
			}
		}
	}
	slices.SortFunc(out, func(a, b sized) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.count, a.count)) })
	return out
}

// units lists the units worth trying: the sizes of big pods, their halves and
// thirds, and the smallest sizes of which a capacity in use does not hold two, three
// and so on.
func units(needs, stock []sized) []int64 {
	var out []int64
	for j, n := range needs {
		if j == 0 || n.size != needs[j-1].size {
			out = append(out, n.size, (n.size+1)/2, (n.size+2)/3)
		}
	}
	for _, o := range stock {
		for parts := int64(1); parts <= 12; parts++ {
			out = append(out, o.size/(parts+1)+1)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(unit int64) bool { return unit < 2 })
}
