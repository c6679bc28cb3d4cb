package disrupt

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// A pod has the budgets that select it, by whatever way they are found.
func TestBudgetsOf_AreThoseThatSelectThePod(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c"})
		namespace := rapid.SampledFrom([]string{"shop", "team"})
		selector := rapid.Custom(func(t *rapid.T) cluster.PodSelector {
			s := cluster.PodSelector{Nothing: rapid.IntRange(0, 9).Draw(t, "nothing") == 0}
			for range rapid.IntRange(0, 2).Draw(t, "requirements") {
				op := rapid.SampledFrom([]label.Operator{label.In, label.In, label.NotIn, label.Exists, label.DoesNotExist}).Draw(t, "operator")
				var values []string
				if op == label.In || op == label.NotIn {
					values = rapid.SliceOfN(word, 1, 2).Draw(t, "values")
				}
				r, err := label.NewRequirement(word.Draw(t, "key"), op, values...)
				if err != nil {
					t.Fatal(err)
				}
				s.Match = s.Match.And(label.All(r))
			}
			return s
		})
		all := make([]cluster.PodBudget, rapid.IntRange(0, 8).Draw(t, "budgets"))
		for i := range all {
			all[i] = cluster.PodBudget{Namespace: namespace.Draw(t, "namespace"), Name: string(rune('a' + i)), Selector: selector.Draw(t, "selector")}
		}
		p := cluster.Pod{Namespace: namespace.Draw(t, "of the pod"), Labels: label.FromMap(rapid.MapOf(word, word).Draw(t, "labels"))}
		var want, got []string
		for i := range all {
			if all[i].Selects(p.Namespace, p.Labels) {
				want = append(want, all[i].ID())
			}
		}
		j := &Judge{budgets: budgetsByNamespace(all)}
		for _, b := range j.budgetsOf(&p) {
			got = append(got, b.ID())
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("budgets %v, want %v", got, want)
		}
		found += len(got)
	})
	if found == 0 {
		t.Error("no budget selects a pod")
	}
}
