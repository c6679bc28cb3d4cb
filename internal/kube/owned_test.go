package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestOwned_KeepsOnlyWhatTheManagerApplied(t *testing.T) {
	const text = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: spot
  labels: {mine: a, theirs: b}
  managedFields:
  - manager: terraform-provider-karpenter
    operation: Apply
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {f:mine: {}}}
      f:spec:
        f:weight: {}
        f:atomic: {}
        f:gone: {}
        f:empty: {".": {}, f:gone: {}}
        f:ports:
          'k:{"port":80,"protocol":"TCP"}': {".": {}, f:port: {}, f:protocol: {}, f:name: {}}
        f:set:
          'v:"x"': {}
  - manager: karpenterd
    operation: Update
    fieldsType: FieldsV1
    fieldsV1: {f:metadata: {f:labels: {f:theirs: {}}}}
  - manager: terraform-provider-karpenter
    operation: Apply
    subresource: status
    fieldsType: FieldsV1
    fieldsV1: {f:status: {}}
spec:
  weight: 5
  atomic: [{a: 1}, {b: 2}]
  defaulted: by the API
  empty: {theirs: 1}
  ports:
  - {port: 80, protocol: TCP, name: web, nodePort: 30000}
  - {port: 80, protocol: UDP, name: other}
  set: [x, y]
status: {nodes: 3}
`
	want := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"mine": "a"}},
		"spec": map[string]any{
			"weight": int64(5),
			"atomic": []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}},
			"empty":  map[string]any{},
			"ports":  []any{map[string]any{"port": int64(80), "protocol": "TCP", "name": "web"}},
			"set":    []any{"x"},
		},
	}
	obj := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	got, err := Owned(obj, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owned fields (-want +got):\n%s", diff)
	}
	if got, err := Owned(obj, "stranger"); err != nil || len(got) != 0 {
		t.Errorf("a stranger owns %v (%v)", got, err)
	}
}
