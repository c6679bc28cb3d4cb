//go:build lab

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// shadowName is the namespace and the name of the shadow of the test.
const shadowName = "observer"

// shadowLooksAndTouchesNothing runs a shadow without any right in AWS beside the daemon, which is
// the other program to it. It changes its Lease and its ConfigMap, and nothing else; the report of a
// user has what it has seen.
func shadowLooksAndTouchesNothing(t *testing.T, d *daemonLab) {
	m := d.halfFull(t, "shadowed")
	o := d.options
	o.Namespace, o.Name, o.ServiceAccount, o.Mode, o.Replicas, o.RoleARN, o.QueueName = shadowName, shadowName, shadowName, install.ModeShadow, 1, "", ""
	o.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
	objects, err := install.Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(t, objects...)
	eventually(t, func() error { return d.hasSeen(t, shadowName, 1) })
	d.changedOnly(t)

	// The next one goes on from what an earlier one has kept.
	d.shadows(t, 0)
	patch := `{"data":{"history.json":"[{\"start\":\"2026-01-01T00:00:00Z\",\"seconds\":7200,\"paid\":4,\"forecast\":3,\"bound\":2,\"launches\":{\"theirs\":{\"nodes\":2,\"costPerHour\":1},\"ours\":{\"nodes\":1,\"costPerHour\":0.5}}}]"}}`
	if _, err := d.Core.CoreV1().ConfigMaps(shadowName).Patch(t.Context(), install.ShadowName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	deployer := d.terminal(t)
	deployer.env = append(deployer.env, "KUBECONFIG="+d.kubeconfigOfDeployer(t))
	report := deployer.must(t, "karpenterd report -o table")
	for _, want := range []string{
		"In 2 hours since 2026-01-01 00:00 UTC", "have cost $2.00 an hour on average. The daemon would have come to $1.50: $1.00 less in that time (25.0 %)",
		"another program has launched 2 nodes at $1.00 an hour. For the same pods the daemon would have launched 1 node at $0.50",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	d.shadows(t, 1)
	eventually(t, func() error { return d.hasSeen(t, shadowName, 2) })
	d.shadows(t, 0)
	d.allow(t, m)
	d.scale(t, m.pool, 0)
	d.empties(t, m.pool)
}

// shadowRunsByTheGuide goes by the guide in a cluster without Karpenter and without the daemon, which
// has none of their kinds.
func shadowRunsByTheGuide(t *testing.T, d *daemonLab) {
	deployer := d.terminal(t)
	deployer.env = append(deployer.env, "KUBECONFIG="+d.kubeconfigOfDeployer(t))
	g := deployer.openGuide(t, "shadow")
	g.run(t, "install", "my-cluster", d.ClusterName, "us-west-2", d.Region, "registry.example.com/karpenterd:1.0.0", d.options.Image)
	eventually(t, func() error { return d.hasSeen(t, install.ShadowName, 1) })
	g.run(t, "report")
	text, err := os.ReadFile(filepath.Join(g.dir, "report.md"))
	if err != nil || !strings.Contains(string(text), "| now |") {
		t.Errorf("report.md: %v\n%s", err, text)
	}
	g.run(t, "remove")
}

// shadows scales the Deployment of the shadow, and waits until so many pods are there.
func (d *daemonLab) shadows(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := d.Core.AppsV1().Deployments(shadowName).Patch(t.Context(), shadowName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := d.Core.CoreV1().Pods(shadowName).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(pods.Items) != replicas {
			err = fmt.Errorf("%d pods", len(pods.Items))
		}
		return err
	})
}

// hasSeen checks that the ConfigMap of the shadow in the namespace has so many hours.
func (d *daemonLab) hasSeen(t *testing.T, namespace string, hours int) error {
	t.Helper()
	c, err := d.Core.CoreV1().ConfigMaps(namespace).Get(t.Context(), install.ShadowName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var history []struct{ Start string }
	if text := c.Data["history.json"]; text != "" {
		if err := json.Unmarshal([]byte(text), &history); err != nil {
			t.Fatal(err)
		}
	}
	if len(history) < hours {
		return fmt.Errorf("the history has %d hours, want %d: %s", len(history), hours, c.Data)
	}
	return nil
}

// changedOnly checks what the shadow has asked of the API server: to read, and to change its Lease
// and its ConfigMap.
func (d *daemonLab) changedOnly(t *testing.T) {
	t.Helper()
	requests, err := d.RequestsOf(shadowName, shadowName)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for r := range requests {
		if slices.Contains([]string{"get", "list", "watch"}, r.Verb) || r.Resource == "selfsubjectaccessreviews" {
			continue
		}
		own[r.Verb+" "+r.Resource] = true
	}
	for _, want := range []string{"create leases", "patch configmaps"} {
		if !own[want] {
			t.Errorf("the shadow did not %s", want)
		}
		delete(own, want)
	}
	delete(own, "update leases")
	if len(own) > 0 || len(requests) < 10 {
		t.Errorf("the shadow has changed %v, of %d kinds of requests", own, len(requests))
	}
}
