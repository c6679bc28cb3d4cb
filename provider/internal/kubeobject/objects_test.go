package kubeobject

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

func TestExtras_RemovesWhatOthersAddedAndNothingElse(t *testing.T) {
	wanted := map[string]any{"a": 1, "m": map[string]any{"x": 1}, "l": []any{1}}
	live := map[string]any{"a": 2, "m": map[string]any{"x": 1, "y": 2}, "l": []any{1, 2}, "weight": 3}
	if got, want := extras(wanted, live), map[string]any{"m": map[string]any{"y": nil}, "weight": nil}; !cmp.Equal(got, want) {
		t.Errorf("patch %v, want %v", got, want)
	}
	if got := extras(wanted, wanted); got != nil {
		t.Errorf("patch %v of nothing", got)
	}
}

func TestExactly_SetsWhatIsWantedAndRemovesTheRest(t *testing.T) {
	wanted := map[string]any{"role": "r", "m": map[string]any{"x": 1}, "l": []any{1}, "new": map[string]any{"z": 1}}
	live := map[string]any{"instanceProfile": "p", "m": map[string]any{"x": 1, "y": 2}, "l": []any{1, 2}}
	want := map[string]any{"role": "r", "instanceProfile": nil, "m": map[string]any{"x": 1, "y": nil}, "l": []any{1}, "new": map[string]any{"z": 1}}
	if got := exactly(wanted, live); !cmp.Equal(got, any(want)) {
		t.Errorf("patch %v, want %v", got, want)
	}
}

func TestReadyIsFalse_OfTheCurrentGenerationOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		condition map[string]any
		want      bool
	}{
		"false":          {map[string]any{"type": "Ready", "status": "False", "observedGeneration": int64(2)}, true},
		"false, older":   {map[string]any{"type": "Ready", "status": "False", "observedGeneration": int64(1)}, false},
		"unknown":        {map[string]any{"type": "Ready", "status": "Unknown", "observedGeneration": int64(2)}, false},
		"something else": {map[string]any{"type": "SubnetsReady", "status": "False", "observedGeneration": int64(2)}, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"conditions": []any{tt.condition}},
		}}
		if got := readyIsFalse(obj); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSpecInto_AFieldOfAnotherTypeHoldsUpNoOther(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"role": "nodes", "kubelet": map[string]any{"podsPerCore": "many", "maxPods": int64(5), "imageMaximumGCAge": "10m"},
	}}}
	var spec awsv1.EC2NodeClassSpec
	if err := SpecInto(object, &spec); err != nil || spec.Role != "nodes" || spec.Kubelet == nil {
		t.Fatalf("%v: %+v", err, spec)
	}
	if k := spec.Kubelet; k.PodsPerCore != nil || k.MaxPods == nil || k.MaxPods.IntVal != 5 || string(k.Further["imageMaximumGCAge"]) != `"10m"` {
		t.Errorf("%+v", k)
	}
}
