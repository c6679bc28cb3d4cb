package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// term is one required term of pod affinity or anti-affinity. All classes with an
// equal term share it.
type term struct {
	cluster.PodTerm
	wanted     *tally      // pods that the term of a new pod selects; nil until a class has the term
	owners     *tally      // running and placed pods that have the term as anti-affinity
	wantedSets []*labelSet // the sets whose pods wanted counts
	everywhere bool        // a new pod's term selects in every namespace; see Build
	// binds lists the classes that have the term: first those that it does not
	// select, then those that it selects.
	binds [2][]int32
}

// appendTerm appends a key of the term.
func appendTerm(b []byte, p *cluster.PodTerm) []byte {
	b = appendSelector(label.AppendText(b, label.Canonical(p.Key)), p.Selector)
	b = label.AppendNumber(b, int64(len(p.Namespaces)))
	for _, n := range p.Namespaces {
		b = label.AppendText(b, n)
	}
	return appendSelector(b, p.InNamespaces)
}

// newTerm returns the term without its tallies.
func newTerm(p *cluster.PodTerm, exact bool) *term {
	return &term{PodTerm: *p, everywhere: !exact && selects(&p.InNamespaces, &label.Labels{})}
}

// wants says whether the term selects the set, if a new pod has the term.
func (x *term) wants(k *labelSet) bool {
	return (x.everywhere || x.reaches(k)) && selects(&x.Selector, &k.labels)
}

// repels says whether the term keeps the set away, if a running pod has the term.
func (x *term) repels(k *labelSet) bool {
	return x.reaches(k) && selects(&x.Selector, &k.labels)
}

func (x *term) reaches(k *labelSet) bool {
	return slices.Contains(x.Namespaces, k.namespace) || selects(&x.InNamespaces, &k.of)
}
