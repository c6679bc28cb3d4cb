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
		o.Mode, o.Namespace, o.ServiceAccount = mode, "nodes", "launcher"
		objects, err := Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range objects {
			if kind := x.GetKind(); kind != "CustomResourceDefinition" && kind != "ConfigMap" && x.GetNamespace() != "" {
				named[i] = append(named[i], kind+" "+x.GetName())
			}
		}
	}
	if !slices.Equal(named[0], named[1]) {
		t.Errorf("%v\n%v", named[0], named[1])
	}
}

// A shadow that ran as Karpenter's service account would have Karpenter's rights, and taking the
// shadow away would take the account away.
func TestShadow_HasAServiceAccountAndClusterRoleOfItsOwn(t *testing.T) {
	t.Parallel()
	o := options()
	o.Mode, o.Namespace, o.ServiceAccount = ModeShadow, "", ""
	objects, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range objects {
		if name := x.GetName(); x.GetNamespace() == "" && !strings.HasSuffix(name, "-shadow") || x.GetKind() == "ServiceAccount" && name != ShadowName || x.GetNamespace() != "" && x.GetNamespace() != ShadowName {
			t.Errorf("%s %s/%s", x.GetKind(), x.GetNamespace(), name)
		}
	}
	pod := deploymentOf(t, o).Spec.Template.Spec
	if pod.PriorityClassName != "" || pod.Affinity.NodeAffinity != nil || !slices.Equal(pod.Containers[0].Args, []string{Command, ShadowArgument}) {
		t.Errorf("priority %q, affinity %+v, arguments %v: a shadow displaces nobody and runs where there is room", pod.PriorityClassName, pod.Affinity, pod.Containers[0].Args)
	}
	o.ServiceAccount = DefaultServiceAccount
	if _, err := Objects(o); err == nil || !strings.Contains(err.Error(), `service account: "karpenter": is that of Karpenter`) {
		t.Errorf("Karpenter's service account: %v", err)
	}
}
