package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// constants returns the values of the constants of the type in the package of this folder.
func constants(t *testing.T, kind string) (values []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is {
				if name, is := spec.Type.(*ast.Ident); is && name.Name == kind {
					for _, v := range spec.Values {
						if lit, is := v.(*ast.BasicLit); is { // else it is that of another type
							value, err := strconv.Unquote(lit.Value)
							if err != nil {
								t.Fatal(err)
							}
							values = append(values, value)
						}
					}
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("no constants of %s", kind)
	}
	return values
}

// Whoever reads a reason looks it up in the guide.
func TestGuide_HasARowForEveryReason(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/disruption.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.DeleteFunc(strings.Split(string(guide), "\n"), func(line string) bool { return !strings.HasPrefix(line, "| `") })
	for _, kind := range []string{"StayReason", "PoolReason", "DeleteReason"} {
		for _, value := range constants(t, kind) {
			if value == string(plan.DeletedAlready) {
				continue // a user deleted the node; the guide says so below its first table
			}
			if !slices.ContainsFunc(rows, func(row string) bool {
				first, _, _ := strings.Cut(row[1:], "|")
				return strings.Contains(first, "`"+value+"`")
			}) {
				t.Errorf("no table of templates/guides/disruption.md has %s %s", kind, value)
			}
		}
	}
}

func TestStay_EveryReasonHasASentenceAndARemedy(t *testing.T) {
	for _, value := range constants(t, "StayReason") {
		stay := plan.Stay{Reason: plan.StayReason(value), Detail: "d"}
		if stay.Explain() == value || stay.Remedy() == "" {
			t.Errorf("%s: %q, %q", value, stay.Explain(), stay.Remedy())
		}
	}
}

func TestPoolStanding_EveryReasonHasASentence(t *testing.T) {
	for _, why := range []plan.PoolReason{
		plan.PoolDeleting, plan.PoolNotUp, plan.PoolCloudAway, plan.PoolAllPaused, plan.PoolSelfPaused, plan.PoolHasNone, plan.PoolBudgetUsed, plan.PoolLimitFull,
		plan.PoolNodesGo, plan.PoolNext, plan.PoolHeld, plan.PoolSearching, plan.PoolNoSaving, plan.PoolIsStatic, plan.PoolPolicy, plan.PoolNodesKept,
	} {
		if p := (plan.PoolStanding{Pool: "p", Reason: why, Detail: "d"}); p.Explain() == string(why) || strings.Contains(p.Explain(), "%!") {
			t.Errorf("%s: %q", why, p.Explain())
		}
	}
}

// The guide says to look at the image of a pool whose nodes do not come up, and the remedy
// says the same: neither pause ends while its cause lasts.
func TestStay_TheRemedyOfMovesThatAreHeldNamesWhatHoldsThem(t *testing.T) {
	late, undone := plan.Stay{Reason: plan.MovesHeld, Detail: "n"}.Remedy(), plan.Stay{Reason: plan.MovesHeld}.Remedy()
	if !strings.Contains(late, "replicas") || !strings.Contains(undone, "image, user data and capacity") {
		t.Errorf("%q; %q", late, undone)
	}
}
