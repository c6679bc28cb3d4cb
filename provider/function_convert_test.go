package provider_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"golang.org/x/tools/txtar"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

const oldManifests = `apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: spot}
spec: {providerRef: {name: default}, ttlSecondsAfterEmpty: 30}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}, instanceProfile: nodes}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-global-settings}
data: {aws.clusterName: lab}
`

// callConvert calls the function as Terraform does.
func callConvert(t *testing.T, argument tftypes.Value) (map[string]tftypes.Value, *tfprotov6.FunctionError) {
	t.Helper()
	h := newHarness(t)
	value, err := tfprotov6.NewDynamicValue(tftypes.String, argument)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.server.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{Name: "convert", Arguments: []*tfprotov6.DynamicValue{&value}})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Error != nil {
		return nil, resp.Error
	}
	result, err := resp.Result.Unmarshal(h.schema.Functions["convert"].Return.Type)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]tftypes.Value{}
	if err := result.As(&fields); err != nil {
		t.Fatal(err)
	}
	return fields, nil
}

func TestConvert_ReturnsObjectsByNameAndWarnings(t *testing.T) {
	got, problem := callConvert(t, tftypes.NewValue(tftypes.String, oldManifests))
	if problem != nil {
		t.Fatal(problem.Text)
	}
	texts := func(field string) map[string]string {
		all, out := map[string]tftypes.Value{}, map[string]string{}
		if err := got[field].As(&all); err != nil {
			t.Fatal(err)
		}
		for name, value := range all {
			var text string
			if err := value.As(&text); err != nil {
				t.Fatal(err)
			}
			out[name] = text
		}
		return out
	}
	if pools := texts("node_pools"); len(pools) != 1 || !strings.Contains(pools["spot"], "consolidateAfter: 30s") {
		t.Errorf("node pools %v", pools)
	}
	if classes := texts("node_classes"); len(classes) != 1 || !strings.Contains(classes["default"], "instanceProfile: nodes") {
		t.Errorf("node classes %v", classes)
	}
	if environment := texts("environment"); environment["CLUSTER_NAME"] != "lab" {
		t.Errorf("environment %v", environment)
	}
	var manifests string
	if err := got["manifests"].As(&manifests); err != nil || strings.Count(manifests, "apiVersion:") != 3 {
		t.Errorf("manifests %s, %v", manifests, err)
	}
	var warnings []tftypes.Value
	if err := got["warnings"].As(&warnings); err != nil || len(warnings) == 0 {
		t.Errorf("warnings %v, %v", warnings, err)
	}
}

func TestConvert_BadInputIsAnErrorOfTheArgument(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(oldManifests, "ttlSecondsAfterEmpty: 30", "limits: {cpu: 1}", 1): `Provisioner "spot": spec.limits.cpu: no such field, so that the Provisioner has no limit at all; write spec.limits.resources.cpu`,
		"": "no object of Karpenter",
	} {
		_, problem := callConvert(t, tftypes.NewValue(tftypes.String, text))
		if problem == nil || !strings.Contains(problem.Text, want) || problem.FunctionArgument == nil || *problem.FunctionArgument != 0 {
			t.Errorf("%q: %+v", text, problem)
		}
	}
}

// notYet lists what a conversion writes and the resources do not have yet. An attribute
// that they get needs no change here.
func notYet() []string {
	return nil
}

// TestConvert_AttributesAreThoseOfTheResources compares the names of attributes in the
// configuration that a conversion writes with the schema.
func TestConvert_AttributesAreThoseOfTheResources(t *testing.T) {
	h := newHarness(t)
	files, err := filepath.Glob("../internal/legacy/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		result := legacy.Convert([]legacy.Source{{Text: string(archive.Files[0].Data)}}, legacy.Options{})
		config, _ := result.HCL("")
		parsed, problems := hclsyntax.ParseConfig([]byte(config), file, hcl.InitialPos)
		if problems.HasErrors() || len(result.Errors) > 0 {
			continue
		}
		body, _ := parsed.Body.(*hclsyntax.Body)
		for _, block := range body.Blocks {
			if block.Type != "resource" {
				continue
			}
			schema := h.schema.ResourceSchemas[block.Labels[0]].Block.Attributes
			for name, attribute := range block.Body.Attributes {
				checkAttribute(t, file, name, attribute.Expr, schema)
			}
		}
	}
}

// checkAttribute looks for an attribute in a schema, and for those in it.
func checkAttribute(t *testing.T, file, name string, value hclsyntax.Expression, schema []*tfprotov6.SchemaAttribute) {
	t.Helper()
	i := slices.IndexFunc(schema, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == name })
	switch {
	case i < 0 && slices.Contains(notYet(), name):
		return
	case i < 0:
		t.Errorf("%s: no attribute %s", file, name)
		return
	case schema[i].NestedType == nil:
		return
	}
	elements := []hclsyntax.Expression{value}
	if list, ok := value.(*hclsyntax.TupleConsExpr); ok {
		elements = list.Exprs
	}
	for _, element := range elements {
		object, ok := element.(*hclsyntax.ObjectConsExpr)
		if !ok {
			if len(element.Variables()) == 0 {
				t.Errorf("%s: %s is no object", file, name)
			}
			continue // an expression of the user's
		}
		for _, item := range object.Items {
			checkAttribute(t, file, hcl.ExprAsKeyword(item.KeyExpr), item.ValueExpr, schema[i].NestedType.Attributes)
		}
	}
}
