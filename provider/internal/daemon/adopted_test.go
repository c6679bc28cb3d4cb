package daemon

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

func TestAdopt_WhatObjectsWouldLoseIsNamed(t *testing.T) {
	at := func(more ...string) []string {
		return append([]string{"schema", "openAPIV3Schema", "properties"}, more...)
	}
	disruption := at("spec", "properties", "disruption", "properties")
	put := func(value map[string]any, path ...string) func(definition, version map[string]any) {
		return func(_, version map[string]any) { _ = unstructured.SetNestedMap(version, value, path...) }
	}
	text := map[string]any{"type": "string"}
	for name, tc := range map[string]struct {
		change func(definition, version map[string]any)
		want   []string
	}{
		"the same":          {func(_, _ map[string]any) {}, nil},
		"a field less":      {func(_, v map[string]any) { unstructured.RemoveNestedField(v, append(disruption, "budgets")...) }, nil},
		"a field more":      {put(text, append(disruption, "more")...), []string{"v1.spec.disruption.more"}},
		"one of the status": {put(text, at("status", "properties", "more")...), []string{"v1.status.more"}},
		"one in a list":     {put(text, append(disruption, "budgets", "items", "properties", "more")...), []string{"v1.spec.disruption.budgets[].more"}},
		"any field":         {put(map[string]any{"type": "object", preserves: true}, at("spec", "properties", "template")...), []string{"v1.spec.template (fields that the schema does not name)"}},
		"any key":           {put(map[string]any{"type": "object", "additionalProperties": text}, append(disruption, "consolidateAfter")...), []string{"v1.spec.disruption.consolidateAfter[]"}},
		"a version that no object is stored in": {func(d, v map[string]any) {
			other := maps.Clone(v)
			other["name"], other["storage"] = "v1beta1", false
			spec := kubeobject.AsMap(d["spec"])
			spec["versions"] = append(kubeobject.AsList(spec["versions"]), other)
		}, nil},
		"a value more": {func(_, v map[string]any) {
			path := append(slices.Clone(disruption), "consolidationPolicy", "enum")
			values, _, _ := unstructured.NestedSlice(v, path...)
			_ = unstructured.SetNestedSlice(v, append(values, "More"), path...)
		}, []string{"v1.spec.disruption.consolidationPolicy = More"}},
	} {
		wanted, _ := nodePools(t)
		live, version := nodePools(t)
		tc.change(live.Object, version)
		if got := losses(wanted, live); !slices.Equal(got, tc.want) {
			t.Errorf("%s: loses %v, want %v", name, got, tc.want)
		}
		err := adoptable(wanted, live, kube.ErrExists)
		if refused := errors.Is(err, failure.ErrShrinks); refused != (len(tc.want) > 0) || refused && !strings.Contains(err.Error(), tc.want[0]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wanted, _ := nodePools(t)
	other, _ := nodePools(t)
	kubeobject.AsMap(other.Object["spec"])["scope"] = "Namespaced"
	if err := adoptable(wanted, other, kube.ErrExists); !errors.Is(err, kube.ErrExists) || !strings.Contains(err.Error(), "spec.scope") {
		t.Errorf("a definition of another kind: %v", err)
	}
}

// What Karpenter 1.15 has changed in its definitions since 1.14.
func TestAdopt_DefinitionsOfKarpenter115LoseNothing(t *testing.T) {
	spec := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}
	changes := map[string]map[string]any{
		"ec2nodeclasses.karpenter.k8s.aws": {
			"kubelet":        map[string]any{"type": "object", preserves: true, "additionalProperties": map[string]any{preserves: true}},
			"enclaveOptions": map[string]any{"type": "object", "required": []any{"enabled"}, "properties": map[string]any{"enabled": map[string]any{"type": "boolean"}}},
		},
		"nodepools.karpenter.sh": {"disruption": map[string]any{"properties": map[string]any{"budgets": map[string]any{"items": map[string]any{"properties": map[string]any{
			"reasons": map[string]any{"items": map[string]any{"enum": []any{"Underutilized", "Empty", "Drifted", "Unhealthy"}}},
		}}}}}},
	}
	definitions, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, wanted := range definitions {
		live := wanted.DeepCopy()
		version := kubeobject.AsMap(kubeobject.AsList(kubeobject.AsMap(live.Object["spec"])["versions"])[0])
		for name, schema := range changes[wanted.GetName()] {
			if err := unstructured.SetNestedField(version, schema, append(slices.Clone(spec), name)...); err != nil {
				t.Fatal(err)
			}
			changed++
		}
		if err := adoptable(wanted, live, kube.ErrExists); err != nil {
			t.Error(err)
		}
	}
	if changed != 3 {
		t.Errorf("%d changes: the test looks at the wrong place", changed)
	}
}

func TestAdopt_AnAdoptedDefinitionIsNothingThatAnybodyRemoves(t *testing.T) {
	definition, _ := nodePools(t)
	key := kube.RefOf(definition).Key()
	own := ownership.Record{ownership.KeyCluster: "1", ownership.KeyAdopted + key: "2"}
	if !own.Nothing() || len(staleOf(nil, own)) > 0 {
		t.Errorf("an adopted definition counts as made: %v", staleOf(nil, own))
	}
	var diags diag.Diagnostics
	warnAdopted(own, &diags)
	if len(diags) != 1 || !strings.Contains(diags[0].Detail(), `CustomResourceDefinition "nodepools.karpenter.sh" existed before`) {
		t.Errorf("the destroy says %v", diags)
	}
	own = ownership.Record{ownership.KeyCluster: "1", key: "2"}
	diags = nil
	if warnAdopted(own, &diags); own.Nothing() || len(diags) > 0 {
		t.Errorf("a definition that was made counts as adopted: %v", diags)
	}
}
