package disrupt

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// budgetsIn are the PodDisruptionBudgets of one namespace. Almost all select pods by the value of
// one label, and a namespace may have many: so those of a pod are found by its value.
type budgetsIn struct {
	byKey  []byValue
	others []*cluster.PodBudget // those that list no values of a label
}

// byValue is the budgets that select pods by values of the label.
type byValue struct {
	key  string
	with map[string][]*cluster.PodBudget // by value
}

// budgetsByNamespace sorts the budgets by how they select pods.
func budgetsByNamespace(all []cluster.PodBudget) map[string]*budgetsIn {
	out := map[string]*budgetsIn{}
	for i := range all {
		b := &all[i]
		in := out[b.Namespace]
		if in == nil {
			in = &budgetsIn{}
			out[b.Namespace] = in
		}
		in.add(b)
	}
	return out
}

// add adds the budget under the values of the first label of which its selector lists them.
func (in *budgetsIn) add(b *cluster.PodBudget) {
	for _, r := range b.Selector.Match {
		values, listed := r.Values()
		if !listed || r.AdmitsAbsence() {
			continue
		}
		at := slices.IndexFunc(in.byKey, func(x byValue) bool { return x.key == r.Key() })
		if at < 0 {
			at = len(in.byKey)
			in.byKey = append(in.byKey, byValue{r.Key(), map[string][]*cluster.PodBudget{}})
		}
		for _, v := range values {
			in.byKey[at].with[v] = append(in.byKey[at].with[v], b)
		}
		return
	}
	in.others = append(in.others, b)
}

// budgetsOf returns the PodDisruptionBudgets that select the pod. The labels of its group
// do not decide: they are only those that other pods look at.
func (j *Judge) budgetsOf(p *cluster.Pod) (out []*cluster.PodBudget) {
	in := j.budgets[p.Namespace]
	if in == nil {
		return nil
	}
	add := func(list []*cluster.PodBudget) {
		for _, b := range list {
			if b.Selects(p.Namespace, p.Labels) {
				out = append(out, b)
			}
		}
	}
	for _, x := range in.byKey {
		if value, there := p.Labels.Get(x.key); there {
			add(x.with[value])
		}
	}
	add(in.others)
	return out
}
