package record_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/record"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func whole() plan.Plan {
	return plan.Plan{
		Actions: []plan.Action{
			plan.Launch{Name: "a", Pool: "general", Types: []plan.Choice{{Type: "c5.large", Price: 1}}, Requirements: label.All(label.Is("k", "v"))},
			plan.Delete{Claim: "b", Why: plan.Empty},
		},
		Outcomes: []plan.Outcome{{Group: "g", Pods: []string{"x/1", "x/2"}, Verdict: plan.OnLaunch, On: "a"}},
		Cost:     3,
		Proofs:   []plan.Certificate{{Bound: 2}},
	}
}

// A hash that does not see a part of the plan protects nothing.
func TestHash_SeesEveryPartOfAPlan(t *testing.T) {
	before, err := record.Hash(whole())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*plan.Plan){
		"requirements": func(p *plan.Plan) {
			l := p.Actions[0].(plan.Launch)
			l.Requirements = l.Requirements.And(label.All(label.Is("a", "b")))
			p.Actions[0] = l
		},
		"kind of action": func(p *plan.Plan) { p.Actions[1] = plan.Disrupt{} },
		"order":          func(p *plan.Plan) { p.Actions[0], p.Actions[1] = p.Actions[1], p.Actions[0] },
		"cost":           func(p *plan.Plan) { p.Cost++ },
		"bound":          func(p *plan.Plan) { p.Proofs[0].Bound++ },
		"outcome":        func(p *plan.Plan) { p.Outcomes[0].Pods = p.Outcomes[0].Pods[1:] },
	} {
		p := whole()
		change(&p)
		if after, err := record.Hash(p); err != nil || after == before {
			t.Errorf("%s may change unseen: %v", name, err)
		}
	}
}

func TestLine_SaysWhatIsBoughtDoneAndLeft(t *testing.T) {
	got, err := record.Line("world/1", engine.Output{Plan: whole()})
	if want := "world/1: 1x general/c5.large, 1 deleted, 2 on-launch, "; err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("line %q, %v; want %q first", got, err, want)
	}
}

func TestCompare_ShowsWhatDiffers(t *testing.T) {
	if got := record.Compare("a\nb\n", []string{"a", "b"}); got != "" {
		t.Errorf("of the same: %s", got)
	}
	for name, lines := range map[string][]string{"changed": {"a", "c"}, "missing": {"a"}, "more": {"a", "b", "c"}} {
		if got := record.Compare("a\nb\n", lines); !strings.Contains(got, "1 of 2 plans") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
