package daemon

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
)

// nodePools is the definition of NodePools, and its version v1.
func nodePools(t *testing.T) (definition *unstructured.Unstructured, version map[string]any) {
	t.Helper()
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(crds, func(c *unstructured.Unstructured) bool { return c.GetName() == "nodepools.karpenter.sh" })
	definition = crds[i].DeepCopy()
	return definition, kubeobject.AsMap(kubeobject.AsList(kubeobject.AsMap(definition.Object["spec"])["versions"])[0])
}

func TestLacking_ADefinitionOfKarpenterIsUsedIfItHasTheFields(t *testing.T) {
	disruption := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "disruption", "properties"}
	for name, tc := range map[string]struct {
		change func(definition *unstructured.Unstructured, version map[string]any)
		want   []string
	}{
		"the same": {func(*unstructured.Unstructured, map[string]any) {}, nil},
		"other texts, rules and columns": {func(d *unstructured.Unstructured, v map[string]any) {
			d.SetAnnotations(map[string]string{"controller-gen.kubebuilder.io/version": "v0"})
			delete(v, "additionalPrinterColumns")
			spec := kubeobject.AsMap(kubeobject.AsMap(kubeobject.AsMap(kubeobject.AsMap(v["schema"])["openAPIV3Schema"])["properties"])["spec"])
			spec["description"], spec["x-kubernetes-validations"] = "other", nil
		}, nil},
		"more fields": {func(_ *unstructured.Unstructured, v map[string]any) {
			_ = unstructured.SetNestedMap(v, map[string]any{"type": "string"}, append(slices.Clone(disruption), "more")...)
		}, nil},
		"a field less": {func(_ *unstructured.Unstructured, v map[string]any) {
			unstructured.RemoveNestedField(v, append(slices.Clone(disruption), "budgets")...)
		}, []string{"v1.spec.disruption.budgets"}},
		"a value less": {func(_ *unstructured.Unstructured, v map[string]any) {
			_ = unstructured.SetNestedSlice(v, []any{"WhenEmpty", "Balanced"}, append(slices.Clone(disruption), "consolidationPolicy", "enum")...)
		}, []string{"v1.spec.disruption.consolidationPolicy = WhenEmptyOrUnderutilized"}},
		"a field of the status less": {func(_ *unstructured.Unstructured, v map[string]any) {
			unstructured.RemoveNestedField(v, "schema", "openAPIV3Schema", "properties", "status", "properties", "resources")
		}, nil},
		"not stored":       {func(_ *unstructured.Unstructured, v map[string]any) { v["storage"] = false }, []string{"spec.versions[v1], served and stored"}},
		"an older version": {func(_ *unstructured.Unstructured, v map[string]any) { v["name"] = "v1beta1" }, []string{"spec.versions[v1], served and stored"}},
		"without status":   {func(_ *unstructured.Unstructured, v map[string]any) { delete(v, "subresources") }, []string{"spec.versions[v1].subresources.status"}},
		"of another's kind": {func(d *unstructured.Unstructured, _ map[string]any) {
			kubeobject.AsMap(kubeobject.AsMap(d.Object["spec"])["names"])["kind"] = "Other"
		}, []string{"spec.names.kind"}},
	} {
		wanted, _ := nodePools(t)
		live, version := nodePools(t)
		tc.change(live, version)
		if got := lacking(wanted, live); !slices.Equal(got, tc.want) {
			t.Errorf("%s: lacks %v, want %v", name, got, tc.want)
		}
	}
}
