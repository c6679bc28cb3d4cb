package provider_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// writtenResource is a resource of converted configuration, with the id of its import block.
type writtenResource struct {
	kind, id string
	config   object
}

// written evaluates the resources of a configuration. One with templates of the user's is left
// out: nobody knows their values.
func written(t *testing.T, config string) []writtenResource {
	t.Helper()
	parsed, problems := hclsyntax.ParseConfig([]byte(config), "out.tf", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	body, _ := parsed.Body.(*hclsyntax.Body)
	scope := hcl.EvalContext{Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{"karpenter_daemon": cty.NullVal(cty.String)})}}
	classes, ids := map[string]cty.Value{}, map[string]string{}
	for _, block := range body.Blocks {
		switch {
		case block.Type == "import":
			to, _ := hcl.AbsTraversalForExpr(block.Body.Attributes["to"].Expr)
			id, faults := block.Body.Attributes["id"].Expr.Value(nil)
			if !faults.HasErrors() {
				ids[to.RootName()+"."+to[1].(hcl.TraverseAttr).Name] = id.AsString()
			}
		case block.Type == "resource" && block.Labels[0] == "karpenter_node_class":
			if name, faults := block.Body.Attributes["name"].Expr.Value(nil); !faults.HasErrors() {
				classes[block.Labels[1]] = cty.ObjectVal(map[string]cty.Value{"name": name})
			}
		}
	}
	scope.Variables["karpenter_node_class"] = cty.ObjectVal(classes)
	var all []writtenResource
resources:
	for _, block := range body.Blocks {
		if block.Type != "resource" {
			continue
		}
		r := writtenResource{kind: block.Labels[0], id: ids[strings.Join(block.Labels, ".")], config: object{}}
		for name, attribute := range block.Body.Attributes {
			value, faults := attribute.Expr.Value(&scope)
			if faults.HasErrors() {
				continue resources
			}
			r.config[name] = plainValue(t, value)
		}
		all = append(all, r)
	}
	return all
}

// plainValue is a value as the harness takes it.
func plainValue(t *testing.T, v cty.Value) any {
	t.Helper()
	switch typ := v.Type(); {
	case v.IsNull():
		return nil
	case typ == cty.String:
		return v.AsString()
	case typ == cty.Bool:
		return v.True()
	case typ == cty.Number:
		n, _ := v.AsBigFloat().Int64()
		return int(n)
	case typ.IsTupleType():
		out := list{}
		for _, element := range v.AsValueSlice() {
			out = append(out, plainValue(t, element))
		}
		return out
	case typ.IsObjectType():
		out := object{}
		for name, attribute := range v.AsValueMap() {
			out[name] = plainValue(t, attribute)
		}
		return out
	}
	t.Fatalf("no plain value of %#v", v)
	return nil
}

// converted gives the configurations of testdata, by file.
func converted(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../internal/legacy/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if result := legacy.Convert([]legacy.Source{{Text: string(archive.Files[0].Data)}}, legacy.Options{}); len(result.Errors) == 0 {
			all[filepath.Base(file)], _ = result.HCL("")
		}
	}
	return all
}

// TestConvert_TheProviderAcceptsWhatIsWritten validates the resources of all that testdata is
// converted to. Images and nodes with Windows are converted, and nothing launches them.
func TestConvert_TheProviderAcceptsWhatIsWritten(t *testing.T) {
	h := newHarness(t)
	seen := 0
	for file, config := range converted(t) {
		if strings.Contains(file, "windows") {
			continue
		}
		for _, r := range written(t, config) {
			seen++
			for _, d := range h.validate(r.kind, r.config) {
				t.Errorf("%s: %s: %s: %s", file, r.kind, d.Summary, d.Detail)
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d resources", seen)
	}
}

// TestConvert_AnImportOfWhatIsConvertedChangesNothing puts objects of v1 into an API server, as it
// stores them, and imports them by the import blocks: nothing is left to do.
func TestConvert_AnImportOfWhatIsConvertedChangesNothing(t *testing.T) {
	for file, ids := range map[string][]string{
		"current_pool_and_class": {"karpenter_node_class default", "karpenter_node_pool default", "karpenter_node_pool fixed"},
		"current_with_defaults":  {"karpenter_node_class default", "karpenter_node_pool spot.pool"},
	} {
		t.Run(file, func(t *testing.T) {
			archive, err := txtar.ParseFile("../internal/legacy/testdata/" + file + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			result := legacy.Convert([]legacy.Source{{Text: string(archive.Files[0].Data)}}, legacy.Options{})
			server := startObjects(t)
			server.store(t, result)
			h := server.provider(t)
			config, _ := result.HCL("")
			var found []string
			for _, r := range written(t, config) {
				found = append(found, r.kind+" "+r.id)
				imported, diags := h.imported(r.kind, r.id)
				wantNoError(t, diags)
				p := imported.plan(r.config)
				wantNoError(t, p.problems)
				if diffs, err := imported.state.Diff(p.value); err != nil || len(diffs) > 0 {
					t.Errorf("%s %s: the plan is not empty: %v %v", r.kind, r.id, diffs, err)
				}
			}
			if !slices.Equal(found, ids) {
				t.Errorf("imports of %v, want %v", found, ids)
			}
		})
	}
}

// store puts the objects of a conversion there, as an API server with the definitions stores them.
func (c *fakeObjects) store(t *testing.T, result legacy.Result) {
	t.Helper()
	kinds := map[string][2]string{
		"NodePool":     {"../internal/api/v1/crds/karpenter.sh_nodepools.yaml", "/apis/karpenter.sh/v1/nodepools/"},
		"EC2NodeClass": {"../internal/api/awsv1/crds/karpenter.k8s.aws_ec2nodeclasses.yaml", "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/"},
	}
	manifests, err := result.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		definition, err := os.ReadFile(kinds[m.Kind][0])
		if err != nil {
			t.Fatal(err)
		}
		stored, pruned, errs := crdtest.Parse(t, definition).Create(t, m.YAML)
		if len(pruned)+len(errs) > 0 {
			t.Fatal(m.Name, pruned, errs)
		}
		stored["status"] = object{"conditions": list{object{"type": "Ready", "status": "True", "observedGeneration": 1}}}
		path := kinds[m.Kind][1] + m.Name
		c.change(path, func(object) object { return c.put(path, stored, false) })
	}
}
