//go:build lab

package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestImport_FieldsWithoutAnAttributeStayAndAreSaid imports objects with fields that the
// resources have no attributes for, and updates them. P7.
func TestImport_FieldsWithoutAnAttributeStayAndAreSaid(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	h := l.behind(t, nobody)
	daemon := h.resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	terms := func(id string) []any { return []any{map[string]any{"id": id}} }
	class := map[string]any{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "theirs"},
		"spec": map[string]any{
			"role": "nodes", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "subnetSelectorTerms": terms("subnet-0123456789abcdef0"), "securityGroupSelectorTerms": terms("sg-0123456789abcdef0"),
			"ipPrefixCount": int64(2), "cpuOptions": map[string]any{"nestedVirtualization": "enabled"},
		},
	}
	if err := s.create(nodeClasses, "", class); err != nil {
		t.Fatal(err)
	}
	imported, diags := l.behind(t, nobody).imported("karpenter_node_class", "theirs") // another run
	wantNoError(t, diags)
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "spec.cpuOptions.nestedVirtualization, spec.ipPrefixCount") {
		t.Errorf("the import does not say what it keeps: %+v", diags)
	}
	config := object{
		"name": "theirs", "role": "nodes", "wait": false, "detailed_monitoring": true,
		"ami_selector_terms": list{object{"alias": "al2023@latest"}}, "subnet_selector_terms": list{object{"id": "subnet-0123456789abcdef0"}},
		"security_group_selector_terms": list{object{"id": "sg-0123456789abcdef0"}},
	}
	wantNoError(t, imported.apply(config))
	imported.settled(config)
	kept := func() map[string]any {
		spec, _, err := unstructured.NestedMap(s.get(nodeClasses, "", "theirs").Object, "spec")
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"ipPrefixCount": spec["ipPrefixCount"], "cpuOptions": spec["cpuOptions"], "detailedMonitoring": spec["detailedMonitoring"]}
	}
	want := map[string]any{"ipPrefixCount": int64(2), "cpuOptions": map[string]any{"nestedVirtualization": "enabled"}, "detailedMonitoring": true}
	if diff := cmp.Diff(want, kept()); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
	if err := l.patch(nodeClasses, "", "theirs", `{"spec":{"context":"c-1"}}`); err != nil { // has an attribute: drift
		t.Fatal(err)
	}
	imported.drifted(config, "context")
	wantNoError(t, imported.apply(config))
	if diff := cmp.Diff(want, kept()); diff != "" {
		t.Errorf("after drift (-want +got):\n%s", diff)
	}
	wantNoError(t, imported.destroy())
	wantNoError(t, daemon.destroy())
}
