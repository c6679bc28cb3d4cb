package legacy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// TestConvert_NodePoolsAreValidInV1 holds all NodePools and NodeClaims that testdata
// gives to our own definitions, which refuse no field that a conversion writes there. Objects of
// v1 that have other fields stay as they are.
func TestConvert_NodePoolsAreValidInV1(t *testing.T) {
	definitions := map[string]*crdtest.Definition{}
	for kind, file := range map[string]string{"NodePool": "karpenter.sh_nodepools.yaml", "NodeClaim": "karpenter.sh_nodeclaims.yaml"} {
		document, err := os.ReadFile(filepath.Join("..", "api", "v1", "crds", file))
		if err != nil {
			t.Fatal(err)
		}
		definitions[kind] = crdtest.Parse(t, document)
	}
	seen := 0
	for name, result := range converted(t) {
		manifests, err := result.Manifests()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range manifests {
			if d := definitions[m.Kind]; d != nil && !strings.Contains(name, "without_an_attribute") && !strings.Contains(m.YAML, "${") {
				seen++
				if _, pruned, errs := d.Create(t, m.YAML); len(pruned)+len(errs) > 0 {
					t.Errorf("%s: %s %q: %v, pruned %v", name, m.Kind, m.Name, errs, pruned)
				}
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d objects", seen)
	}
}

func TestHCL_IsReadByTerraformsParser(t *testing.T) {
	for name, result := range converted(t) {
		config, _ := result.HCL("")
		if _, problems := hclsyntax.ParseConfig([]byte(config), name, hcl.InitialPos); problems.HasErrors() {
			t.Errorf("%s: %v\n%s", name, problems, config)
		}
	}
}

// converted gives the results of testdata that have no errors.
func converted(t *testing.T) map[string]legacy.Result {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]legacy.Result{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := legacy.Convert([]legacy.Source{{Text: string(archive.Files[0].Data)}}, legacy.Options{}); len(r.Errors) == 0 {
			results[file] = r
		}
	}
	return results
}
