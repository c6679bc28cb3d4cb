package upstream

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// Every variable and every gate of Karpenter's controller is in the list that says what becomes of
// it, and the values that its chart has by default say nothing to anybody.
func TestSettings_NoneOfKarpentersIsMissing(t *testing.T) {
	core, aws := module(t, "sigs.k8s.io/karpenter"), module(t, "github.com/aws/karpenter-provider-aws")
	known := map[string]bool{}
	for _, s := range legacy.Settings() {
		known[s.Variable], known[s.Gate] = true, true
	}
	seen := 0
	for _, dir := range []string{core, aws} {
		for _, name := range settingsOf(t, filepath.Join(dir, "pkg", "operator", "options")) {
			seen++
			if !known[name] {
				t.Errorf("%s is a setting of Karpenter, and not in the list of internal/legacy", name)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d settings: the test looks at the wrong place", seen)
	}
	values, err := os.ReadFile(filepath.Join(aws, "charts", "karpenter", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(values), `clusterName: ""`, `clusterName: "prod"`, 1)
	result := legacy.Convert([]legacy.Source{{Name: "values.yaml", Text: named}}, legacy.Options{})
	for _, p := range slices.Concat(result.Errors, result.Warnings) {
		if !strings.Contains(p.What, "has these settings") {
			t.Errorf("the values of Karpenter's chart by default: %s", p)
		}
	}
	if result.Environment["CLUSTER_NAME"] != "prod" {
		t.Errorf("the values are not read: %v", result.Environment)
	}
	for _, path := range leaves(t, values) {
		if !slices.ContainsFunc(legacy.Settings(), func(s legacy.Setting) bool { return s.Value == path }) && path != "settings.enableDRA" {
			t.Errorf("%s is a value of Karpenter's chart, and not in the list of internal/legacy", path)
		}
	}
}

// settingsOf are the variables of the environment that the package reads, and its gates.
func settingsOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	variable := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`)
	for _, f := range parsed(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				for _, arg := range x.Args {
					if text, ok := evaluated(arg, nil); ok && variable.MatchString(text) {
						out = append(out, text)
					}
				}
			case *ast.TypeSpec:
				if fields, ok := x.Type.(*ast.StructType); ok && x.Name.Name == "FeatureGates" {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							if name.IsExported() {
								out = append(out, name.Name)
							}
						}
					}
				}
			}
			return true
		})
	}
	return out
}

// leaves are the paths of the values below settings.
func leaves(t *testing.T, values []byte) (out []string) {
	t.Helper()
	var root map[string]any
	if err := yaml.Unmarshal(values, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		inner, ok := value.(map[string]any)
		if !ok {
			out = append(out, path)
			return
		}
		for key, value := range inner {
			walk(path+"."+key, value)
		}
	}
	walk("settings", root["settings"])
	if len(out) < 25 {
		t.Errorf("%d values: the test looks at the wrong place", len(out))
	}
	return out
}
