package provider_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// completeBlocks are the blocks of examples/complete.
func completeBlocks(t *testing.T) (all hclsyntax.Blocks) {
	t.Helper()
	files, err := filepath.Glob("../examples/complete/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, diags := hclparse.NewParser().ParseHCLFile(name)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		all = append(all, file.Body.(*hclsyntax.Body).Blocks...)
	}
	return all
}

// scopeOf gives values to what the expressions of the block refer to. Nothing is known but the
// region, and the name of the cluster if it is given.
func scopeOf(block *hclsyntax.Block, clusterName cty.Value) *hcl.EvalContext {
	roots, modules := map[string]map[string]cty.Value{}, map[string]map[string]cty.Value{}
	for _, attribute := range block.Body.Attributes {
		for _, reference := range attribute.Expr.Variables() {
			root, names := reference.RootName(), namesIn(reference)
			switch {
			case root == "module" && len(names) > 1:
				put(modules, names[0], names[1], cty.DynamicVal)
			case len(names) > 0: // else it is the variable of a for expression
				put(roots, root, names[0], cty.DynamicVal)
			}
		}
	}
	put(roots, "var", "region", cty.StringVal(testRegion))
	put(roots, "var", "image", cty.NullVal(cty.DynamicPseudoType)) // the default
	for name, outputs := range modules {
		if name == "eks" {
			outputs["cluster_name"] = clusterName
		}
		put(roots, "module", name, cty.ObjectVal(outputs))
	}
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: map[string]function.Function{"concat": stdlib.ConcatFunc}}
	for root, values := range roots {
		scope.Variables[root] = cty.ObjectVal(values)
	}
	return scope
}

func put(in map[string]map[string]cty.Value, outer, inner string, value cty.Value) {
	if in[outer] == nil {
		in[outer] = map[string]cty.Value{}
	}
	in[outer][inner] = value
}

// namesIn are the names after the first in a reference, as far as they are attributes.
func namesIn(reference hcl.Traversal) (names []string) {
	for _, step := range reference[1:] {
		attribute, ok := step.(hcl.TraverseAttr)
		if !ok {
			break
		}
		names = append(names, attribute.Name)
	}
	return names
}

// configOf is the configuration of a block in the form of the harness.
func configOf(t *testing.T, block *hclsyntax.Block, scope *hcl.EvalContext) object {
	t.Helper()
	config := object{}
	for name, attribute := range block.Body.Attributes {
		value, diags := attribute.Expr.Value(scope)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		config[name] = plain(value)
	}
	for _, inner := range block.Body.Blocks {
		if inner.Type == "lifecycle" {
			continue // the tool's own; the provider does not see it
		}
		t.Fatalf("%s: a block %q", inner.Range(), inner.Type)
	}
	return config
}

// TestExampleComplete_OurBlocksAreValid validates and plans our blocks as Terraform would:
// while nothing of the cluster is known, and with a name of the cluster that AWS does not know
// yet, because the module gives the name that it was given.
func TestExampleComplete_OurBlocksAreValid(t *testing.T) {
	for name, clusterName := range map[string]cty.Value{
		"before anything exists":           cty.UnknownVal(cty.String),
		"with the name of a cluster to be": cty.StringVal("complete"),
	} {
		t.Run(name, func(t *testing.T) {
			cloud, h := startCloud(t), newHarness(t)
			blocks, kinds := completeBlocks(t), map[string]int{}
			for _, block := range blocks {
				if block.Type == "provider" && block.Labels[0] == "karpenter" {
					config := with(cloud.config(), configOf(t, block, scopeOf(block, clusterName)))
					wantNoError(t, h.validateProvider(config))
					wantNoError(t, h.configure(config))
				}
			}
			for _, block := range blocks {
				if block.Type != "resource" {
					continue
				}
				kind := block.Labels[0]
				config := configOf(t, block, scopeOf(block, clusterName))
				wantNoError(t, h.validate(kind, config))
				wantNoError(t, h.resource(kind).plan(config).problems)
				kinds[kind]++
			}
			if used, ours := slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(h.schema.ResourceSchemas)); !slices.Equal(used, ours) {
				t.Errorf("the example has %v, the provider %v", used, ours)
			}
		})
	}
}

// TestExampleComplete_NeedsNoDependsOn looks for depends_on in all blocks, those of the modules
// included.
func TestExampleComplete_NeedsNoDependsOn(t *testing.T) {
	var look func(blocks hclsyntax.Blocks) int
	look = func(blocks hclsyntax.Blocks) (seen int) {
		for _, block := range blocks {
			for name, attribute := range block.Body.Attributes {
				seen++
				if name == "depends_on" {
					t.Errorf("%s: depends_on", attribute.Range())
				}
			}
			seen += look(block.Body.Blocks)
		}
		return seen
	}
	if seen := look(completeBlocks(t)); seen < 20 {
		t.Errorf("only %d attributes were looked at", seen)
	}
}
