// Package definition checks an object against its CustomResourceDefinition
// offline, as the API server does on creation: defaults, schema and CEL rules. It
// uses the API server's own packages, so the rules are written only in the
// definitions.
//
// A Definition is immutable and safe for concurrent use.
package definition

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Definition is the schema and the rules of one kind.
type Definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
	fields     map[string]bool // the names of all fields
}

// Parse compiles the first version of a CustomResourceDefinition in YAML. further are names
// of fields that objects can have, and the schema does not name.
func Parse(document []byte, further ...string) (*Definition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(document, crd); err != nil {
		return nil, fmt.Errorf("definition parse: %w", err)
	}
	if len(crd.Spec.Versions) == 0 || crd.Spec.Versions[0].Schema == nil {
		return nil, fmt.Errorf("definition parse: %q has no schema", crd.Name)
	}
	served := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema, served, nil); err != nil {
		return nil, fmt.Errorf("definition %q convert: %w", crd.Name, err)
	}
	structural, err := structuralschema.NewStructural(served.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("definition %q read: %w", crd.Name, err)
	}
	validator, _, err := validation.NewSchemaValidator(served.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("definition %q read: %w", crd.Name, err)
	}
	fields := map[string]bool{}
	gather(structural, fields)
	for _, name := range further {
		fields[name] = true
	}
	return &Definition{structural: structural, schema: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit), fields: fields}, nil
}

// gather adds the names of the schema's fields to out.
func gather(s *structuralschema.Structural, out map[string]bool) {
	if s == nil {
		return
	}
	for name, inner := range s.Properties {
		out[name] = true
		gather(&inner, out)
	}
	gather(s.Items, out)
}

// inCamelCase finds words in camel case, which may begin with the part of the object.
var inCamelCase = regexp.MustCompile(`\b(?:spec\.)?[a-z]+(?:[A-Z][A-Za-z0-9]*)+`)

// Attributes gives the text with names of attributes in place of the names of fields
// that are in camel case.
func (d *Definition) Attributes(text string) string {
	return inCamelCase.ReplaceAllStringFunc(text, func(word string) string {
		name := strings.TrimPrefix(word, "spec.")
		if !d.fields[name] {
			return word
		}
		return v1.AttributeName(name)
	})
}

// Validate returns the objections that the API server would have to the spec. The
// spec is a Go value of the API's types. The paths begin with "spec".
func (d *Definition) Validate(ctx context.Context, spec any) (field.ErrorList, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil, fmt.Errorf("spec convert: %w", err)
	}
	object := map[string]any{"metadata": map[string]any{"name": "x"}, "spec": fields}
	defaulting.Default(object, d.structural)
	if errs := validation.ValidateCustomResource(nil, object, d.schema); len(errs) > 0 {
		return errs, nil // the API server stops here too: rules may rely on the schema
	}
	errs, _ := d.rules.Validate(ctx, nil, d.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return errs, nil
}
