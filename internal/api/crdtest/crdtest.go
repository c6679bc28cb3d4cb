// Package crdtest checks CustomResourceDefinitions and objects in tests as an
// API server does: pruning, defaulting, schema and CEL rules. It uses the API
// server's own packages. It has no state, and only tests import it.
package crdtest

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Definition is a parsed CustomResourceDefinition of one version.
type Definition struct {
	CRD        *apiextensionsv1.CustomResourceDefinition
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Parse reads and validates a definition as an API server does on creation. CEL
// rules must compile and stay within the cost budget.
func Parse(t *testing.T, document []byte) *Definition {
	t.Helper()
	d, err := parse(document)
	if err != nil {
		t.Fatalf("parse definition: %v", err)
	}
	return d
}

func parse(document []byte) (*Definition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(document, crd); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	apiextensionsinstall.Install(scheme)
	full := crd.DeepCopy()
	scheme.Default(full)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(full, internal, nil); err != nil {
		return nil, err
	}
	internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
	if errs := crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	served, err := apiextensions.GetSchemaForVersion(internal, crd.Spec.Versions[0].Name)
	if err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(served.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(served.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &Definition{
		CRD: crd, structural: structural, schema: validator,
		rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// Create prunes and defaults the YAML object as an API server does on creation.
// It returns the object that would be stored, the paths that were pruned, and
// the validation errors.
func (d *Definition) Create(t *testing.T, document string) (stored map[string]any, pruned []string, errs field.ErrorList) {
	t.Helper()
	stored, pruned = d.admit(t, document)
	errs = append(validation.ValidateCustomResource(nil, stored, d.schema), listtype.ValidateListSetsAndMaps(nil, d.structural, stored)...)
	ruleErrs, _ := d.rules.Validate(context.Background(), nil, d.structural, stored, nil, celconfig.RuntimeCELCostBudget)
	return stored, pruned, append(errs, ruleErrs...)
}

// Update is Create for a change of one YAML object into another.
func (d *Definition) Update(t *testing.T, before, after string) field.ErrorList {
	t.Helper()
	old, _ := d.admit(t, before)
	stored, _ := d.admit(t, after)
	errs := append(validation.ValidateCustomResourceUpdate(nil, stored, old, d.schema), listtype.ValidateListSetsAndMaps(nil, d.structural, stored)...)
	ruleErrs, _ := d.rules.Validate(context.Background(), nil, d.structural, stored, old, celconfig.RuntimeCELCostBudget)
	return append(errs, ruleErrs...)
}

func (d *Definition) admit(t *testing.T, document string) (object map[string]any, pruned []string) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(document))
	if err == nil {
		err = json.Unmarshal(text, &object) // whole numbers become integers, which CEL rules tell from floats
	}
	if err != nil {
		t.Fatalf("parse object: %v\n%s", err, document)
	}
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	pruned = pruning.PruneWithOptions(object, d.structural, true, options)
	defaulting.Default(object, d.structural)
	return object, pruned
}

// Into converts a stored object to its Go type.
func Into(t *testing.T, stored map[string]any, object any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(stored, object, true); err != nil {
		t.Fatalf("convert stored object: %v", fmt.Errorf("%w: %v", err, stored))
	}
}
