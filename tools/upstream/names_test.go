package upstream

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/karpenter-provider-aws/pkg/apis"
	coreapis "sigs.k8s.io/karpenter/pkg/apis"
)

// absent are names of Karpenter that nothing here has, with the reason.
func absent() map[string]string {
	const (
		outOfScope = "the feature is not carried out; the condition Unsupported says so where a field asks for it"
		atLaunch   = "launches are not tried in advance: a NodeClaim says what EC2 refused"
		repair     = "the daemon repairs and reboots no node"
		kubelet    = "a setting of the kubelet that is refused has the reason UnsupportedField, as any other field; the message says what is wrong"
	)
	return map[string]string{
		"karpenter.k8s.aws/placement-group-id":         outOfScope,
		"karpenter.k8s.aws/placement-group-partition":  outOfScope,
		"PlacementGroupDrift":                          outOfScope,
		"PlacementGroupResolutionFailed":               outOfScope,
		"PlacementGroupNotFound":                       outOfScope,
		"karpenter.sh/requested-dra-drivers":           outOfScope,
		"DRADriverPoolsNotPublished":                   outOfScope,
		"karpenter.k8s.aws/nvidia-consumable-capacity": outOfScope,
		"NVIDIAConsumableCapacityInvalid":              outOfScope,
		"DRADisabled":                                  outOfScope,
		"karpenter.sh/do-not-repair":                   repair,
		"karpenter.sh/reboot-pre-boot-id":              repair,
		"karpenter.sh/reboot-termination-grace-period": repair,
		"karpenter.sh/rebooting":                       repair,
		"Rebooting":                                    repair,
		"karpenter.sh/disruption-cost":                 "alpha in Karpenter; the daemon goes by the cost of nodes, and by what protects pods",
		"InvalidKubeletConfiguration":                  kubelet,
		"KubeletExpressionInvalid":                     kubelet,
		"KubeletExpressionEvaluationFailed":            kubelet,
		"KubeletExpressionsDisabled":                   "expressions are evaluated in any case",
		"UnsupportedKubeletConfiguration":              kubelet,
		"CreateFleetAuthCheckFailed":                   atLaunch,
		"CreateLaunchTemplateAuthCheckFailed":          atLaunch,
		"RunInstancesAuthCheckFailed":                  atLaunch,
		"DryRunDisabled":                               atLaunch,
		"ConsistentStateFound":                         "a node with less than its NodeClaim promised is seen by the resources that it reports",
		"ConsistencyCheckFailed":                       "see ConsistentStateFound",
		"RegistrationHookPending":                      "registration has no hooks",
	}
}

func TestNames_NoneOfKarpentersIsMissingWithoutAReason(t *testing.T) {
	core, aws := module(t, "sigs.k8s.io/karpenter"), module(t, "github.com/aws/karpenter-provider-aws")
	known := map[string]string{
		"apis.Group": apis.Group, "apis.CompatibilityGroup": apis.CompatibilityGroup, "coreapis.Group": coreapis.Group, "karpv1.NodePoolLabelKey": coreapis.Group + "/nodepool",
	}
	theirs := constants(t, filepath.Join(aws, "pkg", "apis", "v1"), known)
	known["apis.Group"] = coreapis.Group
	maps.Copy(theirs, constants(t, filepath.Join(core, "pkg", "apis", "v1"), known))
	maps.Copy(theirs, constants(t, filepath.Join(aws, "pkg", "cloudprovider"), known))
	maps.Copy(theirs, constants(t, filepath.Join(core, "pkg", "controllers", "nodeclaim", "disruption"), known))
	for _, dir := range []string{core, aws} {
		maps.Copy(theirs, reasons(t, filepath.Join(dir, "pkg", "controllers")))
	}
	ours := map[string]bool{}
	for _, text := range texts(t, "../..", "internal/api", "internal/label", "internal/drift", "internal/plan", "daemon") {
		ours[text] = true
	}
	why := absent()
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		_, explained := why[name]
		switch {
		case !ours[name] && !explained:
			t.Errorf("%s (%s) is nowhere here: add it, or a reason", name, theirs[name])
		case ours[name] && explained:
			t.Errorf("%s is here: take it out of the table", name)
		}
		delete(why, name)
	}
	for name := range why {
		t.Errorf("%s is in the table, and no name of Karpenter", name)
	}
	if len(theirs) < 80 {
		t.Errorf("%d names: the test looks at the wrong place", len(theirs))
	}
	t.Logf("%d names compared, %d absent for a reason", len(theirs), len(absent()))
}

// module is the folder with the source of a module.
func module(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("find module %s: %s", path, failed.Stderr)
	}
	t.Fatalf("find module %s: %v %q", path, err, out)
	return ""
}

// constants are the labels, annotations, finalizers, taints and condition types in the
// constants of a package, with the constant's name.
func constants(t *testing.T, dir string, known map[string]string) map[string]string {
	t.Helper()
	named := regexp.MustCompile(`^(Label|Annotation|ConditionType|TerminationFinalizer|.*(LabelKey|AnnotationKey|TaintKey)$)`)
	out := map[string]string{}
	for _, f := range parsed(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i < len(spec.Values) && (named.MatchString(name.Name) || isReason(spec.Type)) {
					if value, ok := evaluated(spec.Values[i], known); ok {
						out[value] = name.Name
					}
				}
			}
			return true
		})
	}
	return out
}

// isReason says whether a constant has one of the types of reasons for disruption.
func isReason(of ast.Expr) bool {
	switch x := of.(type) {
	case *ast.SelectorExpr:
		return isReason(x.Sel)
	case *ast.Ident:
		return slices.Contains([]string{"DriftReason", "DisruptionReason"}, x.Name)
	}
	return false
}

// reasons are those that the controllers below the folder set in conditions of the kinds
// compared here: texts in calls, and constants named as reasons.
func reasons(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range parsed(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.ValueSpec:
				for i, name := range x.Names {
					if value, ok := at(x.Values, i); ok && strings.HasPrefix(name.Name, "ConditionReason") {
						out[value] = name.Name
					}
				}
			case *ast.CallExpr:
				method, ok := x.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains([]string{"SetFalse", "SetUnknownWithReason", "SetTrueWithReason"}, method.Sel.Name) {
					return true
				}
				condition, ok := x.Args[0].(*ast.SelectorExpr)
				if pkg, named := condition.X.(*ast.Ident); !ok || !named || pkg.Name != "v1" {
					return true // of a kind that is not compared
				}
				if value, ok := at(x.Args, 1); ok {
					out[value] = "reason of " + condition.Sel.Name
				}
			}
			return true
		})
	}
	return out
}

// at is the text of an expression of the list.
func at(list []ast.Expr, i int) (string, bool) {
	if i >= len(list) {
		return "", false
	}
	return evaluated(list[i], nil)
}

// evaluated is the value of a constant that is made of texts and known names.
func evaluated(e ast.Expr, known map[string]string) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(x.Value)
		return value, x.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		a, okA := evaluated(x.X, known)
		b, okB := evaluated(x.Y, known)
		return a + b, okA && okB && x.Op == token.ADD
	case *ast.SelectorExpr:
		pkg, ok := x.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		value, there := known[pkg.Name+"."+x.Sel.Name]
		return value, there
	case *ast.Ident:
		value, there := known[x.Name]
		return value, there
	}
	return "", false
}

// texts are the values of all constants in our folders, and all texts in them.
func texts(t *testing.T, root string, dirs ...string) []string {
	t.Helper()
	groups := map[string]string{
		"OwnDomain": "karpenterd.sh", "v1.Group": coreapis.Group, "awsv1.Group": apis.Group,
	}
	var out []string
	for _, dir := range dirs {
		for _, group := range []string{coreapis.Group, apis.Group} {
			groups["Group"] = group
			for _, f := range parsed(t, filepath.Join(root, dir)) {
				ast.Inspect(f, func(n ast.Node) bool {
					if e, ok := n.(ast.Expr); ok {
						if value, ok := evaluated(e, groups); ok {
							out = append(out, value)
						}
					}
					return true
				})
			}
		}
	}
	return out
}

// parsed are the files below the folder, without tests.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	var out []*ast.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		out = append(out, f)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("parse %s: %v, %d files", dir, err, len(out))
	}
	return out
}
