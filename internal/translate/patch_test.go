package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPatch_NamesTheObjectAndLeavesAloneWhatItDoesNotName(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"b": "2"}}}
	meta := map[string]any{"annotations": map[string]string{"a": "1"}}
	for want, p := range map[string]Patch{
		`{"metadata":{"annotations":{"a":"1"},"uid":"u"}}`:                       PatchOf(node, meta),
		`{"metadata":{"annotations":{"a":"1"},"resourceVersion":"7","uid":"u"}}`: PatchOfVersion(node, meta),
		`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"taints":[]}}`:    PatchOfVersion(node, nil).With("spec", map[string]any{"taints": []corev1.Taint{}}),
		`{"metadata":{"labels":{"b":null},"uid":"u"}}`:                           PatchOf(node, map[string]any{"labels": map[string]any{"b": nil}}),
	} {
		if got := string(p.JSON()); got != want {
			t.Errorf("patch = %s, want %s", got, want)
		}
	}
	if len(meta) != 1 {
		t.Errorf("the caller's metadata has changed: %v", meta)
	}
}
