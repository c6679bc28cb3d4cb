package upstream

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
)

// Rules are compared by what they refuse: their texts are each side's own.
func TestRules_KarpenterGivesTheSameVerdictOnEveryCase(t *testing.T) {
	for _, k := range kinds() {
		ours, theirs := crdtest.Parse(t, k.ours), crdtest.Parse(t, k.theirs)
		for _, c := range crdtest.Cases(t, k.name) {
			here, _ := c.Play(t, ours)
			there, pruned := c.Play(t, theirs)
			if len(pruned) > 0 {
				t.Errorf("%s, %s: Karpenter has no field %v", k.name, c.Name, pruned)
			}
			switch same := len(here) > 0 == (len(there) > 0); {
			case !same && c.Differs == "":
				t.Errorf("%s, %s: ours %v, Karpenter's %v", k.name, c.Name, here, there)
			case same && c.Differs != "":
				t.Errorf("%s, %s: no longer differs: take the reason out of the case", k.name, c.Name)
			}
		}
	}
}

// neverAlone are the places of rules that no object breaks without breaking another rule.
func neverAlone(path, message string) bool {
	// Karpenter's rules on id refuse the empty list, too.
	return slices.Contains([]string{"spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms"}, path) && strings.HasSuffix(message, "cannot be empty")
}

// A rule that no case is about would be compared with nothing. The case must break that
// rule alone, since another error would hide whether our definition has the rule.
func TestRules_EveryOneIsBrokenAloneByACase(t *testing.T) {
	for _, k := range kinds() {
		for side, document := range map[string][]byte{"ours": k.ours, "Karpenter's": k.theirs} {
			d := crdtest.Parse(t, document)
			rules := rulesOf("", d.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema)
			alone, together := map[rule]bool{}, map[rule]bool{}
			for _, c := range crdtest.Cases(t, k.name) {
				errs, _ := c.Play(t, d)
				for _, e := range errs {
					alone[ruleOf(e)] = alone[ruleOf(e)] || len(errs) == 1 && c.Differs == ""
					together[ruleOf(e)] = true
				}
			}
			for _, r := range rules {
				if never := neverAlone(r.path, r.message); !together[r] || alone[r] == never {
					t.Errorf("%s, %s: rule %q at %s: broken by a case %v, by one that breaks nothing else %v, want %v",
						k.name, side, r.message, r.path, together[r], alone[r], !never)
				}
			}
			t.Logf("%s, %s: %d rules, %d cases", k.name, side, len(rules), len(crdtest.Cases(t, k.name)))
			if len(rules) < 3 {
				t.Errorf("%s, %s: %d rules: the test looks at the wrong place", k.name, side, len(rules))
			}
		}
	}
}

// rule is known by where it is and what it says.
type rule struct{ path, message string }

func ruleOf(e crdtest.Refusal) rule {
	return rule{regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(e.Field, "[]"), e.Detail}
}

func rulesOf(path string, s *apiextensionsv1.JSONSchemaProps) []rule {
	if s == nil {
		return nil
	}
	var out []rule
	for _, r := range s.XValidations {
		out = append(out, rule{path, r.Message})
	}
	for name, inner := range s.Properties {
		at := path + "." + name
		if path == "" {
			at = name
		}
		out = append(out, rulesOf(at, &inner)...)
	}
	if s.Items != nil {
		out = append(out, rulesOf(path+"[]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil {
		out = append(out, rulesOf(path+"[]", s.AdditionalProperties.Schema)...)
	}
	slices.SortFunc(out, func(a, b rule) int { return slices.Compare([]string{a.path, a.message}, []string{b.path, b.message}) })
	return out
}
