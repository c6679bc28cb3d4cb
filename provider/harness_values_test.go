package provider_test

import (
	"maps"
	"math/big"
	"strconv"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// value makes a Terraform value of the type: nil becomes null, unknown{} becomes
// unknown, and attributes that an object does not have become null.
func (h *harness) value(typ tftypes.Type, v any) tftypes.Value {
	h.t.Helper()
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case tftypes.Value:
		return v
	}
	if typ.Is(tftypes.DynamicPseudoType) {
		typ = typeFor(v)
	}
	switch v := v.(type) {
	case int:
		if typ.Is(tftypes.String) {
			return tftypes.NewValue(typ, strconv.Itoa(v)) // as Terraform converts it
		}
		return tftypes.NewValue(typ, big.NewFloat(float64(v)))
	case string, bool:
		return tftypes.NewValue(typ, v)
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		given := v.(object)
		attributes := map[string]tftypes.Value{}
		for name, attribute := range typ.AttributeTypes {
			attributes[name] = h.value(attribute, given[name])
		}
		for name := range given {
			if _, ok := typ.AttributeTypes[name]; !ok {
				h.t.Fatalf("no attribute %q", name)
			}
		}
		return tftypes.NewValue(typ, attributes)
	case tftypes.Map:
		elements := map[string]tftypes.Value{}
		for key, element := range v.(object) {
			elements[key] = h.value(typ.ElementType, element)
		}
		return tftypes.NewValue(typ, elements)
	case tftypes.List:
		return tftypes.NewValue(typ, h.values(typ.ElementType, v.(list)))
	case tftypes.Set:
		return tftypes.NewValue(typ, h.values(typ.ElementType, v.(list)))
	case tftypes.Tuple:
		elements := make([]tftypes.Value, len(typ.ElementTypes))
		for i, of := range typ.ElementTypes {
			elements[i] = h.value(of, v.(list)[i])
		}
		return tftypes.NewValue(typ, elements)
	}
	h.t.Fatalf("no value of %s from %T", typ, v)
	return tftypes.Value{}
}

// typeFor is the type that a value has in a configuration, where the schema leaves it open.
func typeFor(v any) tftypes.Type {
	switch v := v.(type) {
	case string:
		return tftypes.String
	case bool:
		return tftypes.Bool
	case int:
		return tftypes.Number
	case list:
		of := tftypes.Tuple{}
		for _, element := range v {
			of.ElementTypes = append(of.ElementTypes, typeFor(element))
		}
		return of
	case object:
		of := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
		for name, element := range v {
			of.AttributeTypes[name] = typeFor(element)
		}
		return of
	}
	return tftypes.DynamicPseudoType
}

func (h *harness) values(typ tftypes.Type, vs list) []tftypes.Value {
	out := make([]tftypes.Value, len(vs))
	for i, v := range vs {
		out[i] = h.value(typ, v)
	}
	return out
}

// proposedNewState is the state that Terraform proposes before the provider plans:
// the configuration, whose null computed attributes have the values of the prior
// state. This holds for nested attributes too.
func proposedNewState(t *testing.T, schema []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	t.Helper()
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	before, after := attributes(t, prior), attributes(t, config)
	for _, a := range schema {
		was, had := before[a.Name]
		switch {
		case after[a.Name].IsNull() && a.Computed && had:
			after[a.Name] = was
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle && had && !after[a.Name].IsNull():
			after[a.Name] = proposedNewState(t, a.NestedType.Attributes, was, after[a.Name])
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeList && had:
			after[a.Name] = proposedList(t, a.NestedType.Attributes, was, after[a.Name])
		}
	}
	return tftypes.NewValue(config.Type(), after)
}

func proposedList(t *testing.T, schema []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	t.Helper()
	if config.IsNull() || !config.IsKnown() || prior.IsNull() || !prior.IsKnown() {
		return config
	}
	var before, after []tftypes.Value
	if err := prior.As(&before); err != nil {
		t.Fatal(err)
	}
	if err := config.As(&after); err != nil {
		t.Fatal(err)
	}
	for i := range min(len(before), len(after)) {
		after[i] = proposedNewState(t, schema, before[i], after[i])
	}
	return tftypes.NewValue(config.Type(), after)
}

func attributes(t *testing.T, v tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(out) // As gives the map inside of v: who changes it would change v
}

// keepsPromises fails if the state after an apply is not the planned state, as
// Terraform does ("Provider produced inconsistent result after apply").
func keepsPromises(t *testing.T, kind string, planned, after tftypes.Value) {
	t.Helper()
	if planned.IsNull() {
		if !after.IsNull() {
			t.Errorf("%s is still in state after its destruction", kind)
		}
		return
	}
	if !after.IsFullyKnown() {
		t.Errorf("%s: unknown values are left after apply: %s", kind, after)
	}
	diffs, err := planned.Diff(after)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		if d.Value1 != nil && d.Value1.IsFullyKnown() && (d.Value2 == nil || !d.Value1.Equal(*d.Value2)) {
			t.Errorf("%s: %s was planned as %s and is %v", kind, d.Path, d.Value1, d.Value2)
		}
	}
}
