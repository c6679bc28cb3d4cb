//go:build lab

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeClassGivesEachInstanceTypeItsPods has a class with expressions and with settings of the
// kubelet that the API does not name: nodes of two instance types have what the plan counted
// with, and are told all of it.
func nodeClassGivesEachInstanceTypeItsPods(t *testing.T, d *daemonLab) {
	const class = "expressions"
	d.apply(t, d.nodeClass(class, map[string]any{"kubelet": map[string]any{
		"maxPods": "min(vcpus * 6, max_pods)", "kubeReserved": map[string]any{"memory": "max_pods * 20"}, "systemReserved": map[string]any{"cpu": "100m"},
		"imageMaximumGCAge": "10m", "featureGates": map[string]any{"NodeSwap": true},
	}}))
	for instance, pods := range map[string]int64{"m6i.large": 12, "m6i.xlarge": 24} {
		p := pool{name: "pods-of-" + strings.ReplaceAll(instance, ".", "-"), class: class, requirements: map[string][]string{instanceType: {instance}}}
		d.createPool(t, p)
		d.deploy(t, p, 1)
		d.running(t, p, 1)
		claim, launched := d.theOne(t, p)
		node, err := d.Core.CoreV1().Nodes().Get(t.Context(), claim.Status.NodeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if planned, is := claim.Status.Capacity.Pods().Value(), node.Status.Capacity.Pods().Value(); planned != pods || is != pods {
			t.Errorf("%s: %d pods are planned, and the node has %d, want %d", instance, planned, is, pods)
		}
		for _, want := range []string{`"imageMaximumGCAge": "10m"`, `"NodeSwap": true`} {
			if !strings.Contains(launched.UserData, want) {
				t.Errorf("%s: %s is missing in\n%s", instance, want, launched.UserData)
			}
		}
		d.scale(t, p, 0)
		d.empties(t, p)
	}
}
