package proof

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

const (
	mostValues   = 256   // of one label; beyond it the label stays open, which proves less
	mostVariants = 4_096 // of one pool; beyond it further labels stay open
)

// value is one way in which a node has an open label. All nodes whose label is among the
// values count as one that has the example, or none.
type value struct {
	among   label.Requirement
	example string
	absent  bool
}

// variants lists the combinations of values of open labels that pods tell apart. Pods
// that ask for different values share no node.
func (p *proof) variants(open label.Requirements) [][]value {
	out := [][]value{nil}
	for _, r := range open {
		values := p.values(r)
		if len(values) == 0 || len(values)*len(out) > mostVariants {
			continue
		}
		var next [][]value
		for _, before := range out {
			for _, v := range values {
				next = append(next, append(slices.Clone(before), v))
			}
		}
		out = next
	}
	return out
}

// values lists the ways in which a node can have the label: for each set of pods whose
// requirements one node can meet there is one that meets them. It lists none if no pod
// asks for the label.
func (p *proof) values(open label.Requirement) (out []value) {
	sets, asked := []label.Requirement{open}, p.asked(open.Key())
	for _, r := range asked {
		for _, x := range sets {
			both := x.Intersect(r)
			if !both.Contradicts() && !slices.ContainsFunc(sets, func(y label.Requirement) bool {
				return both.Compare(y) == 0 && both.AdmitsAbsence() == y.AdmitsAbsence()
			}) {
				sets = append(sets, both)
			}
		}
		if len(sets) > mostValues {
			return nil
		}
	}
	if len(asked) == 0 {
		return nil
	}
	for _, x := range sets {
		if x.AdmitsAbsence() {
			out = append(out, value{among: x, absent: true})
		}
		listed, all := x.Values()
		for _, v := range listed {
			out = append(out, value{among: label.Is(open.Key(), v), example: v})
		}
		if example, ok := x.Some(); !all && ok {
			out = append(out, value{among: x, example: example})
		}
	}
	return out
}

// asked lists what pods of the certificate ask of the label, each once.
func (p *proof) asked(key string) (out []label.Requirement) {
	note := func(rs label.Requirements) {
		if r, there := rs.Get(key); there && !slices.ContainsFunc(out, func(x label.Requirement) bool { return x.Compare(r) == 0 && x.AdmitsAbsence() == r.AdmitsAbsence() }) {
			out = append(out, r)
		}
	}
	ask := func(s cluster.Shape) {
		for _, rs := range s.Alternatives() {
			note(rs)
		}
		for _, alternatives := range s.Volumes {
			for _, rs := range alternatives {
				note(rs)
			}
		}
	}
	for _, g := range p.groups {
		for _, s := range g.shapes {
			ask(s)
		}
	}
	return out
}

// variant is the new node with these values. DaemonSets take of it what they take for
// each of the values that it stands for.
func (p *proof) variant(x place, values []value) place {
	among := slices.Clone(x.open)
	for _, v := range values {
		for i := range among {
			if among[i].Key() == v.among.Key() {
				among[i] = v.among
			}
		}
	}
	x.open = among
	x = p.net(x)
	x.open = slices.DeleteFunc(slices.Clone(among), func(r label.Requirement) bool {
		return slices.ContainsFunc(values, func(v value) bool { return v.among.Key() == r.Key() })
	})
	for _, v := range values {
		if !v.absent {
			x.labels = x.labels.With(v.among.Key(), v.example)
		}
	}
	return x
}
