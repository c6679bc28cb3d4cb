//go:build lab

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
)

// podsAreNominatedOnceThatIsAllowed deploys the daemon with a ClusterRole that does not let it
// patch pods/status, and gives it the whole one while it runs.
func podsAreNominatedOnceThatIsAllowed(t *testing.T, d *daemonLab) {
	all, err := install.Objects(d.options)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(t, without(t, all, "pods/status")...)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	p := pool{name: "plain", requirements: map[string][]string{instanceType: {"c6i.xlarge"}}} // which takes three of the pods
	d.createPool(t, p)
	d.deploy(t, p, 6)
	d.running(t, p, 6)
	if n := len(d.oneInstanceEach(t, p)); n != 2 {
		t.Errorf("%d nodes, want the two that the pods fill", n)
	}
	if nominated := d.nominated(t); nominated != 0 {
		t.Errorf("%d pods were nominated without the right to", nominated)
	}
	d.saysOfNominations(t, "pods are not nominated for nodes", "karpenterd_nominates_pods 0")

	d.apply(t, all...)
	d.saysOfNominations(t, "pods are nominated for nodes again", "karpenterd_nominates_pods 1")
	d.scale(t, p, 9)
	d.running(t, p, 9)
	eventually(t, func() error { // a log is written after the fact
		if nominated := d.nominated(t); nominated != 3 {
			return fmt.Errorf("%d pods were nominated, want the three that came then", nominated)
		}
		return nil
	})
	d.scale(t, p, 0)
	d.empties(t, p)
}

// without returns the objects with ClusterRoles that do not speak of the resource.
func without(t *testing.T, objects []*unstructured.Unstructured, resource string) []*unstructured.Unstructured {
	t.Helper()
	out, found := slices.Clone(objects), false
	for i, o := range out {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		out[i] = o.DeepCopy()
		rules, _, err := unstructured.NestedSlice(out[i].Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		smaller := slices.DeleteFunc(slices.Clone(rules), func(rule any) bool {
			named, _, err := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			return err == nil && slices.Contains(named, resource)
		})
		found = found || len(smaller) < len(rules)
		if err := unstructured.SetNestedSlice(out[i].Object, smaller, "rules"); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("no ClusterRole speaks of %s", resource)
	}
	return out
}

// saysOfNominations waits until the log says the one and the leader's metrics the
// other, and checks that the log does so once.
func (d *daemonLab) saysOfNominations(t *testing.T, text, metric string) {
	t.Helper()
	eventually(t, func() error {
		if said := strings.Count(d.logs(), text); said != 1 {
			return fmt.Errorf("the log says %d times that %s", said, text)
		}
		if !strings.Contains(get(t, "http://"+d.leader(t).address+":8080/metrics"), "\n"+metric+"\n") {
			return fmt.Errorf("the metrics do not say %s", metric)
		}
		return nil
	})
}

// nominated counts the pods that were nominated for nodes that opened.
func (d *daemonLab) nominated(t *testing.T) int {
	t.Helper()
	sum := 0
	for entry := range daemonlog.Entries([]byte(d.logs())) {
		var said struct {
			Nominated int `json:"nominated"`
		}
		if entry.Message == "release node" && entry.Fields(&said) == nil {
			sum += said.Nominated
		}
	}
	return sum
}
