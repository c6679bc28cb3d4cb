package pack_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// randomProblem draws a few offers and classes with every constraint there is.
func randomProblem(t *rapid.T) pack.Problem {
	var p pack.Problem
	zones := rapid.IntRange(1, 3).Draw(t, "zones")
	all := uint64(1)<<zones - 1
	for i := range rapid.IntRange(1, 6).Draw(t, "offers") {
		cpu := rapid.Int64Range(1, 32).Draw(t, "cpu")
		o := pack.Offer{
			Name: fmt.Sprintf("o%d", i), Nodes: -1, Group: i % 2,
			Net:   []int64{cpu * 1000, cpu * rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "ratio") << 30, rapid.Int64Range(1, 60).Draw(t, "slots")},
			Zones: rapid.Uint64Range(0, all).Draw(t, "zones.of"),
			Large: rapid.IntRange(0, 4).Draw(t, "large") == 0,
		}
		for range zones {
			o.Prices = append(o.Prices, quantity.Money(cpu*rapid.Int64Range(0, 60_000_000).Draw(t, "price")))
		}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			o.Nodes = rapid.Int64Range(0, 5).Draw(t, "nodes")
		}
		p.Offers = append(p.Offers, o)
	}
	for range rapid.IntRange(1, 3).Draw(t, "places") {
		w := pack.Where{}
		for range p.Offers {
			w.Zones = append(w.Zones, rapid.SampledFrom([]uint64{all, all, 0, 1, 2}).Draw(t, "where"))
		}
		p.Where = append(p.Where, w)
	}
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		p.Rules = append(p.Rules, pack.Rule{Max: rapid.Int64Range(0, 3).Draw(t, "max")})
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "classes") {
		c := pack.Class{
			Key: fmt.Sprintf("c%02d", i), Count: rapid.Int64Range(0, 200).Draw(t, "count"), Where: rapid.IntRange(0, len(p.Where)-1).Draw(t, "at"),
			Need: []int64{
				rapid.SampledFrom([]int64{0, 50, 100, 1000, 7000}).Draw(t, "need.cpu"),
				rapid.SampledFrom([]int64{0, 64, 1000, 4096, 20000}).Draw(t, "need.mem") << 20, 1,
			},
		}
		for r := range p.Rules {
			if rapid.IntRange(0, 2).Draw(t, "role") == 0 {
				c.Roles = append(c.Roles, pack.Role{Rule: r, Binds: rapid.Bool().Draw(t, "binds"), Counts: rapid.Bool().Draw(t, "counts")})
			}
		}
		p.Classes = append(p.Classes, c)
	}
	return p
}

// violations lists what is wrong with a result.
func violations(p pack.Problem, r pack.Result) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	placed := make([]int64, len(p.Classes))
	nodes := make([]int64, len(p.Offers))
	var cost quantity.Money
	for i, b := range r.Bins {
		o := p.Offers[b.Offer]
		nodes[b.Offer] += b.Copies
		if b.Copies <= 0 || len(b.Parts) == 0 || b.Zones == 0 {
			add("bin %d: %d copies, %d parts, zones %b", i, b.Copies, len(b.Parts), b.Zones)
			continue
		}
		used := make([]int64, len(o.Net))
		for _, part := range b.Parts {
			c := p.Classes[part.Class]
			placed[part.Class] += part.Count * b.Copies
			if b.Zones&^p.Where[c.Where].Zones[b.Offer] != 0 {
				add("bin %d: class %s may not run in zones %b of %s", i, c.Key, b.Zones, o.Name)
			}
			for d, n := range c.Need {
				used[d] += n * part.Count
			}
		}
		best := quantity.Money(-1)
		for z, price := range o.Prices {
			if b.Zones>>z&1 == 0 {
				continue
			}
			if o.Zones>>z&1 == 0 || price < 0 || price == 0 && o.Nodes < 0 {
				add("bin %d: %s is not for sale in zone %d", i, o.Name, z)
			}
			if best < 0 || price < best {
				best = price
			}
		}
		cost += best * quantity.Money(b.Copies)
		for d, n := range used {
			if n > o.Net[d] {
				add("bin %d: %d of dimension %d on %s, which has %d", i, n, d, o.Name, o.Net[d])
			}
		}
		out = append(out, ruleViolations(p, b, i)...)
	}
	for i, c := range p.Classes {
		if placed[i]+r.Left[i] != max(0, c.Count) || r.Left[i] < 0 {
			add("class %s: %d placed and %d left of %d", c.Key, placed[i], r.Left[i], c.Count)
		}
	}
	for i, o := range p.Offers {
		if o.Nodes >= 0 && nodes[i] > o.Nodes {
			add("%s: %d nodes of %d", o.Name, nodes[i], o.Nodes)
		}
	}
	if cost != r.Cost {
		add("cost %d, want %d", r.Cost, cost)
	}
	return out
}

func ruleViolations(p pack.Problem, b pack.Bin, i int) []string {
	var out []string
	for rule, most := range p.Rules {
		counted, bound := int64(0), false
		for _, part := range b.Parts {
			for _, role := range p.Classes[part.Class].Roles {
				if role.Rule != rule {
					continue
				}
				bound = bound || role.Binds
				if role.Counts {
					counted += part.Count
				}
			}
		}
		if bound && counted > most.Max {
			out = append(out, fmt.Sprintf("bin %d: %d counted by rule %d, which allows %d", i, counted, rule, most.Max))
		}
	}
	return out
}

// text is a result without the order of classes.
func text(p pack.Problem, r pack.Result) string {
	var b strings.Builder
	for _, bin := range r.Bins {
		parts := make([]string, 0, len(bin.Parts))
		for _, part := range bin.Parts {
			parts = append(parts, fmt.Sprintf("%s x%d", p.Classes[part.Class].Key, part.Count))
		}
		slices.Sort(parts)
		fmt.Fprintf(&b, "%s x%d in %b: %v\n", p.Offers[bin.Offer].Name, bin.Copies, bin.Zones, parts)
	}
	fmt.Fprintf(&b, "cost %d", r.Cost)
	return b.String()
}
