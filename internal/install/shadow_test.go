package install

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A shadow stands beside another program that works for the cluster: whatever it tried, the API
// server would refuse to change anything but its Lease and its ConfigMap.
func TestShadow_MayChangeItsLeaseAndItsConfigMapAlone(t *testing.T) {
	t.Parallel()
	o := options()
	o.Mode, o.SchedulerConfig, o.LegacyAPI = ModeShadow, "podTopologySpread: {}", true
	objects, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			t.Errorf("a shadow installs the definition %s", object.GetName())
		case "ConfigMap":
			if object.GetName() != ShadowName {
				t.Errorf("a shadow has the ConfigMap %s", object.GetName())
			}
		case "ClusterRole", "Role":
			checkReads(t, object)
		}
	}
}

func checkReads(t *testing.T, role *unstructured.Unstructured) {
	t.Helper()
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	if len(rules) == 0 {
		t.Errorf("%s has no rules", role.GetName())
	}
	for _, r := range rules {
		fields, _ := r.(map[string]any)
		verbs, _, _ := unstructured.NestedStringSlice(fields, "verbs")
		names, _, _ := unstructured.NestedStringSlice(fields, "resourceNames")
		resources, _, _ := unstructured.NestedStringSlice(fields, "resources")
		for _, verb := range verbs {
			reads := slices.Contains([]string{"get", "list", "watch"}, verb)
			// RBAC cannot limit a create to a name.
			own := role.GetKind() == "Role" && (slices.Equal(names, []string{ShadowName}) || verb == "create" && slices.Equal(resources, []string{"leases"}))
			if !reads && !own {
				t.Errorf("%s %s allows to %s %s", role.GetKind(), role.GetName(), verb, strings.Join(resources, ", "))
			}
		}
	}
}

// What is the same in both modes is one object, so that a shadow becomes the daemon in one update.
func TestShadow_BecomesTheDaemonByAnUpdateOfTheSameDeployment(t *testing.T) {
	t.Parallel()
	var named [2][]string
	for i, mode := range Modes() {
		o := options()
		o.Mode = mode
		objects, err := Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range objects {
			if kind := x.GetKind(); kind != "CustomResourceDefinition" && kind != "ConfigMap" {
				named[i] = append(named[i], kind+" "+x.GetName())
			}
		}
	}
	if !slices.Equal(named[0], named[1]) {
		t.Errorf("%v\n%v", named[0], named[1])
	}
}
