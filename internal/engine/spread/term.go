package spread

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// term is one required term of pod affinity or anti-affinity, shared by all who
// have an equal one.
type term struct {
	cluster.PodTerm
	selected *tally // pods that the term selects, as that of a pod to come
	owners   *tally // pods that have it as anti-affinity
	asked    bool   // selected is kept up to date: a class has the term
	// For places to come: the classes that have the term and do not select, or
	// do select, themselves; and those that it selects.
	binds   [2][]int32
	selects []int32
}

func termID(p *cluster.PodTerm) string {
	var b strings.Builder
	selector := func(s cluster.PodSelector) {
		if s.Nothing {
			b.WriteByte('!')
			return
		}
		b.WriteString(s.Match.String())
	}
	b.WriteString(label.Canonical(p.Key))
	b.WriteByte('|')
	selector(p.Selector)
	b.WriteByte('|')
	b.WriteString(strings.Join(p.Namespaces, ","))
	b.WriteByte('|')
	selector(p.InNamespaces)
	return b.String()
}

// wants says whether the term, as that of a pod to come, selects a pod that
// runs. Where the namespace selector matches no labels at all (one with NotIn or
// DoesNotExist may), the scheduler lets it match every namespace.
func (x *term) wants(namespace string, of, labels label.Labels) bool {
	return (x.reaches(namespace, of) || x.InNamespaces.Selects(nil)) && x.Selector.Selects(labels)
}

// repels says whether the term, as that of a pod that runs, keeps a pod away.
func (x *term) repels(namespace string, of, labels label.Labels) bool {
	return x.reaches(namespace, of) && x.Selector.Selects(labels)
}

func (x *term) reaches(namespace string, of label.Labels) bool {
	return slices.Contains(x.Namespaces, namespace) || x.InNamespaces.Selects(of)
}

// directory finds things that carry labels by one of them, so that matching
// hundreds of selectors to thousands of things does not try every pair.
type directory struct {
	byLabel map[label.Label][]int32
	all     []int32
}

func newDirectory(n int, labels func(i int) label.Labels) *directory {
	d := &directory{byLabel: make(map[label.Label][]int32, n), all: make([]int32, n)}
	for i := range n {
		d.all[i] = int32(i)
		for _, l := range labels(i) {
			d.byLabel[l] = append(d.byLabel[l], int32(i))
		}
	}
	return d
}

// candidates lists, in order, all that the selector can select, and more.
func (d *directory) candidates(s cluster.PodSelector) []int32 {
	if s.Nothing {
		return nil
	}
	best := d.all
	for _, r := range s.Match {
		values, listed := r.Values()
		if !listed || r.AdmitsAbsence() {
			continue
		}
		if len(values) == 1 {
			if found := d.byLabel[label.Label{Key: r.Key(), Value: values[0]}]; len(found) < len(best) {
				best = found
			}
			continue
		}
		var found []int32
		for _, v := range values {
			found = append(found, d.byLabel[label.Label{Key: r.Key(), Value: v}]...)
		}
		if len(found) < len(best) {
			slices.Sort(found)
			best = found
		}
	}
	return best
}
