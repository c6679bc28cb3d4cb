package offer

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

const (
	// maxVariants bounds the variants of one pool, where all combinations of the values
	// that pods ask for are made. Beyond it, pods get the combinations that they ask for
	// themselves, and fewer pods share nodes.
	maxVariants = 256
	// maxRows bounds the rows of one pool: a row takes some 700 bytes, so it is 100 MB.
	// Pods whose values came too late wait for the Step after the first have their nodes.
	maxRows = 150_000
)

// Variants is what a demand asks of the labels whose values the pools leave open. A
// node gets one value of such a label when it is launched, so nodes for pods that ask
// for different values are different variants of their pool. The zero Variants leaves
// each pool one kind of node.
type Variants struct {
	keys  []string                   // of the labels, sorted
	asks  []ask                      // different ones, in the order of the demand
	there map[string]map[string]bool // by key that rules between pods look at: values of nodes that exist
}

// ask is what pods ask of the labels.
type ask struct {
	label.Requirements
	domains []string // keys that rules between pods look at: such pods may need each value
}

// VariantsOf returns what the classes ask of the labels that pools of the snapshot leave
// open.
func VariantsOf(s cluster.Snapshot, classes []*demand.Class) Variants {
	return variantsOf(s, func(yield func(*cluster.Shape)) {
		for _, c := range classes {
			for i := range c.Levels {
				yield(&c.Levels[i].Shape)
			}
		}
	})
}

// VariantsOfAll returns what all pods ask, also those that run.
func VariantsOfAll(s cluster.Snapshot) Variants {
	return variantsOf(s, func(yield func(*cluster.Shape)) {
		for g := range s.Groups() {
			yield(&g.Shape)
		}
	})
}

func variantsOf(s cluster.Snapshot, each func(yield func(*cluster.Shape))) Variants {
	open := map[string]bool{}
	for _, p := range s.Supply().Pools {
		for _, r := range p.Requirements {
			open[r.Key()] = open[r.Key()] || allowsSeveral(&p, r)
		}
	}
	v, used := Variants{there: map[string]map[string]bool{}}, map[string]bool{}
	maps.DeleteFunc(open, func(_ string, isOpen bool) bool { return !isOpen })
	if len(open) == 0 {
		return v
	}
	known := map[string]bool{}
	each(func(shape *cluster.Shape) {
		for _, a := range asksOf(shape, open) {
			id := string(label.AppendText(a.AppendKey(nil), strings.Join(a.domains, " ")))
			if known[id] {
				continue
			}
			known[id], v.asks = true, append(v.asks, a)
			for _, r := range a.Requirements {
				used[r.Key()] = true
			}
			for _, key := range a.domains {
				used[key], v.there[key] = true, map[string]bool{}
			}
		}
	})
	v.keys = slices.Sorted(maps.Keys(used))
	v.noteValues(s)
	return v
}

// noteValues notes the values of nodes that exist or are on their way.
func (v *Variants) noteValues(s cluster.Snapshot) {
	if len(v.there) == 0 {
		return
	}
	note := func(labels label.Lookup, _ []cluster.Taint) bool {
		for key, values := range v.there {
			if value, there := labels.Get(key); there {
				values[value] = true
			}
		}
		return false
	}
	s.NodeKinds().Any(note)
	for c := range s.EachClaim() {
		note(c.Labels, nil)
	}
}

// allowsSeveral says whether the requirement leaves the pool's nodes several values of the
// label.
func allowsSeveral(p *cluster.Pool, r label.Requirement) bool {
	if _, fixed := p.Labels.Get(r.Key()); fixed || label.OfInstance(r.Key()) || r.Key() == label.NodePool {
		return false
	}
	values, listed := r.Values()
	return !listed || len(values) > 1
}

// asksOf lists what the shape asks of the open labels, one ask for each alternative.
func asksOf(s *cluster.Shape, open map[string]bool) (out []ask) {
	var domains []string
	note := func(key string) {
		if open[key] && !slices.Contains(domains, key) {
			domains = append(domains, key)
		}
	}
	for _, t := range s.Spread {
		note(t.Key)
	}
	for _, t := range s.PodAffinity {
		note(t.Key)
	}
	for _, t := range s.PodAntiAffinity {
		note(t.Key)
	}
	slices.Sort(domains)
	add := func(alternatives []label.Requirements) {
		for _, rs := range alternatives {
			a := ask{pick.Those(rs, func(r label.Requirement) bool { return open[r.Key()] }), domains}
			if len(a.Requirements)+len(domains) > 0 {
				out = append(out, a)
			}
		}
	}
	add(s.Alternatives())
	for _, p := range s.Preferred {
		add([]label.Requirements{s.Selector.And(p.Node)})
	}
	for _, alternatives := range s.Volumes {
		add(alternatives)
	}
	return out
}

// Template returns the labels that every node of the pool gets, whatever its type.
// These are the labels of the pool's template, and a value for each other label
// that the requirements ask for and instance types do not decide. If several values
// are possible, it is the first one (Karpenter takes any).
func Template(p cluster.Pool) label.Labels {
	l := p.Labels.With(label.NodePool, p.Name).With(label.NodeClass, p.Class)
	for _, r := range p.Requirements {
		if _, there := l.Get(r.Key()); there || r.AdmitsAbsence() || label.OfInstance(r.Key()) {
			continue
		}
		if v, ok := r.Some(); ok {
			l = l.With(r.Key(), v)
		}
	}
	return l
}

// templates returns the labels of the pool's nodes, once for each variant. The first is
// the one for pods that ask for nothing. whole says that there is each combination of
// values.
func (v *Variants) templates(p cluster.Pool) (out []label.Labels, whole bool) {
	base := Template(p)
	var keys []string
	values := map[string][]string{}
	product := 1
	for _, key := range v.keys {
		r, there := p.Requirements.Get(key)
		if !there || !allowsSeveral(&p, r) {
			continue
		}
		if values[key] = v.values(r, base); len(values[key]) > 0 {
			keys = append(keys, key)
			product = min(product*(1+len(values[key])), maxVariants+1)
		}
	}
	if product > maxVariants {
		return v.asked(p, base, keys, values), false
	}
	return combined([]label.Labels{base}, keys, values), true
}

// combined returns the labels with each combination of the values, and each without the
// values of a key.
func combined(out []label.Labels, keys []string, values map[string][]string) []label.Labels {
	for _, key := range keys {
		if len(out)*(1+len(values[key])) > maxRows {
			continue
		}
		next := slices.Clone(out)
		for _, l := range out {
			for _, value := range values[key] {
				next = append(next, l.With(key, value))
			}
		}
		out = next
	}
	return out
}

// asked returns the combinations that the asks have themselves, in their order.
func (v *Variants) asked(p cluster.Pool, base label.Labels, keys []string, values map[string][]string) []label.Labels {
	out, known := []label.Labels{base}, map[string]bool{}
	for _, a := range v.asks {
		mine, possible := map[string][]string{}, true
		of := []label.Labels{base}
		for _, key := range keys {
			r, _ := p.Requirements.Get(key)
			if x, asks := a.Get(key); asks {
				r = r.Intersect(x)
			}
			mine[key] = pick.Those(values[key], r.Admits)
			if slices.Contains(a.domains, key) {
				continue
			}
			switch {
			case r.MetBy(base):
				mine[key] = nil
			case len(mine[key]) == 0:
				possible = false
			default:
				of[0], mine[key] = of[0].With(key, mine[key][0]), nil
			}
		}
		if !possible {
			continue
		}
		for _, l := range combined(of, keys, mine) {
			if id := string(l.AppendKey(nil)); !known[id] && l.Compare(base) != 0 {
				known[id], out = true, append(out, l)
			}
		}
	}
	return out
}

// values returns the values of the label, beside that of the base, of which nodes of a
// pool with this requirement need one or the other, sorted.
func (v *Variants) values(r label.Requirement, base label.Labels) (out []string) {
	var others []label.Requirement // that list no value
	domain := false
	for _, a := range v.asks {
		domain = domain || slices.Contains(a.domains, r.Key())
		x, asks := a.Get(r.Key())
		if !asks {
			continue
		}
		if x = x.Intersect(r); x.Contradicts() {
			continue
		}
		if values, listed := x.Values(); listed {
			out = append(out, values...)
		} else {
			others = append(others, x)
		}
	}
	if domain {
		listed, _ := r.Values()
		out = slices.Concat(out, listed[:min(len(listed), maxVariants)], pick.Those(slices.Collect(maps.Keys(v.there[r.Key()])), r.Admits))
	}
	has, there := base.Get(r.Key())
	out = pick.Those(out, func(value string) bool { return label.Valid(value) && !(there && value == has) })
	for _, x := range together(r, others) {
		if value, ok := x.Some(); ok && !x.MetBy(base) {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mostTogether is how many sets of values together makes. Pods that list no values seldom
// ask in so many different ways.
const mostTogether = 64

// together returns the requirements, and for those of them that one value can meet the
// one that they are together. A node with this value may run pods of them all.
func together(pool label.Requirement, asked []label.Requirement) []label.Requirement {
	out := []label.Requirement{pool}
	add := func(x label.Requirement) {
		if !x.Contradicts() && !slices.ContainsFunc(out, func(y label.Requirement) bool { return x.Compare(y) == 0 && x.AdmitsAbsence() == y.AdmitsAbsence() }) {
			out = append(out, x)
		}
	}
	for _, x := range asked {
		for _, y := range out[:min(len(out), mostTogether)] {
			if len(out) < mostTogether {
				add(y.Intersect(x))
			}
		}
		add(x)
	}
	return out
}

// equal says whether pools of the supply get the same nodes by both.
func (v *Variants) equal(o *Variants, supply *cluster.Supply) bool {
	return slices.Equal(v.keys, o.keys) && (len(v.keys) == 0 || !slices.ContainsFunc(supply.Pools, func(p cluster.Pool) bool {
		a, _ := v.templates(p)
		b, _ := o.templates(p)
		return !slices.EqualFunc(a, b, func(a, b label.Labels) bool { return a.Compare(b) == 0 })
	}))
}
