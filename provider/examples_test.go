package provider_test

import (
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// TestExamples_OfTheProviderAreValid checks each example as Terraform would. What an example
// has from elsewhere is not known yet.
func TestExamples_OfTheProviderAreValid(t *testing.T) {
	files, err := filepath.Glob("../examples/provider/*.tf")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	elsewhere := function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return cty.UnknownVal(cty.String), nil },
	})
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{"data": cty.DynamicVal}, Functions: map[string]function.Function{"base64decode": elsewhere}}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, diags := hclparse.NewParser().ParseHCLFile(name)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			checked := 0
			for _, block := range file.Body.(*hclsyntax.Body).Blocks {
				if block.Type != "provider" {
					continue
				}
				config := object{}
				for attribute, expression := range block.Body.Attributes {
					value, diags := expression.Expr.Value(scope)
					if diags.HasErrors() {
						t.Fatal(diags)
					}
					config[attribute] = plain(value)
				}
				h := newHarness(t)
				wantNoError(t, h.validateProvider(config))
				wantNoError(t, h.configure(config))
				checked++
			}
			if checked != 1 {
				t.Errorf("%d provider blocks, want one", checked)
			}
		})
	}
}

// plain is the value in the form of the harness.
func plain(v cty.Value) any {
	switch {
	case !v.IsKnown():
		return unknown{}
	case v.IsNull():
		return nil
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		n, _ := v.AsBigFloat().Int64()
		return int(n)
	case v.Type().IsTupleType(), v.Type().IsListType():
		out := list{}
		for _, element := range v.AsValueSlice() {
			out = append(out, plain(element))
		}
		return out
	}
	out := object{}
	for name, element := range v.AsValueMap() {
		out[name] = plain(element)
	}
	return out
}
