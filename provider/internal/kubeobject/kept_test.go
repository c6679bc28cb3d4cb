package kubeobject

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// TestKept_WhatAnImportedObjectHasMoreIsKeptAndNamed takes an object apart that has more
// than its declaration, and declares it again. P7.
func TestKept_WhatAnImportedObjectHasMoreIsKeptAndNamed(t *testing.T) {
	declared := map[string]any{"role": "r", "kubelet": map[string]any{"maxPods": 5}, "terms": []any{map[string]any{"id": "a"}}, "same": []any{1}}
	live := map[string]any{
		"role": "other", "kubelet": map[string]any{"maxPods": 5, "newer": true}, "cpuOptions": map[string]any{"coreCount": 2},
		"terms": []any{map[string]any{"id": "a", "zone": "z"}}, "same": []any{1},
	}
	more, inLists := surplus("spec", declared, live)
	want := map[string]any{"kubelet": map[string]any{"newer": true}, "cpuOptions": map[string]any{"coreCount": 2}}
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("surplus (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.terms[0].zone"}, inLists); diff != "" {
		t.Errorf("in lists (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.cpuOptions.coreCount", "spec.kubelet.newer"}, leaves("spec", want)); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	again := map[string]any{"role": "r", "kubelet": map[string]any{"maxPods": 6}}
	if err := withKept(ownership.Record{ownership.KeyKept: `{"kubelet":{"newer":true,"maxPods":5},"cpuOptions":{"coreCount":2}}`}, again); err != nil {
		t.Fatal(err)
	}
	whole := map[string]any{"role": "r", "kubelet": map[string]any{"maxPods": 6, "newer": true}, "cpuOptions": map[string]any{"coreCount": float64(2)}}
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Errorf("declared again (-want +got):\n%s", diff)
	}
	if more, inLists := surplus("spec", declared, declared); more != nil || inLists != nil {
		t.Errorf("nothing more, and yet %v, %v", more, inLists)
	}
}
