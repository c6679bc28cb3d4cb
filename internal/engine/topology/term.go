package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// term is one required term of pod affinity or anti-affinity, shared by all who
// have an equal one.
type term struct {
	cluster.PodTerm
	wanted     *tally      // pods that the term selects, as that of a pod to come; nil until a class has it
	owners     *tally      // pods that have it as anti-affinity
	wantedSets []*labelSet // those whose pods wanted counts
	// The classes that have the term and do not select, or do select, themselves.
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

// wants says whether the term, as that of a pod to come, selects the set. Where
// the namespace selector matches no labels at all (one with NotIn or
// DoesNotExist may), the scheduler lets it match every namespace.
func (x *term) wants(k *labelSet) bool {
	return (x.reaches(k) || selects(&x.InNamespaces, &label.Labels{})) && selects(&x.Selector, &k.labels)
}

// repels says whether the term, as that of a pod that runs, keeps the set away.
func (x *term) repels(k *labelSet) bool {
	return x.reaches(k) && selects(&x.Selector, &k.labels)
}

func (x *term) reaches(k *labelSet) bool {
	return slices.Contains(x.Namespaces, k.namespace) || selects(&x.InNamespaces, &k.of)
}
