//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
)

// startNamesWhatIsMissing deploys daemons that cannot work. Each says why in one line, ends, and
// is never ready. Nobody has installed the definitions before.
func startNamesWhatIsMissing(t *testing.T, d *daemonLab) {
	kinds := func(names ...string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return slices.Contains(names, o.GetKind()) }
	}
	all := func(*install.Options) {}
	d.failsToStart(t, "no-definitions", all, kinds("CustomResourceDefinition"),
		"the cluster has no nodepools.karpenter.sh, ec2nodeclasses.karpenter.k8s.aws, nodeclaims.karpenter.sh: install", "karpenter_daemon")
	d.failsToStart(t, "no-cluster-role", all, kinds("ClusterRoleBinding"),
		"not allowed to list nodepools.karpenter.sh, ", "pods", "nodes", "ClusterRole", "system:serviceaccount:no-cluster-role:karpenter")
	d.failsToStart(t, "no-nominations", all, withoutRule(t, "pods/status"), "not allowed to patch pods/status: ", "ClusterRole", "karpenter_daemon")
	d.failsToStart(t, "no-lease-role", all, kinds("RoleBinding"), "not allowed to get lease no-lease-role/"+install.LeaseName, "its Role")
	d.failsToStart(t, "wrong-cluster", func(o *install.Options) { o.ClusterName = "elsewhere" }, kinds(),
		`"elsewhere"`, "eks:DescribeCluster", "$"+install.EnvClusterName)
	d.failsToStart(t, "unknown-cluster", func(o *install.Options) {
		o.ClusterName, o.RoleARN = "nowhere", d.role(t, "sees-all-clusters", "unknown-cluster", "*")
	}, kinds(), `"nowhere"`, "not found", "$"+install.EnvClusterName)
	d.failsToStart(t, "wrong-region", func(o *install.Options) { o.Region = "mars-north-1" }, kinds(), "$"+install.EnvRegion)
	d.failsToStart(t, "wrong-role", func(o *install.Options) { o.RoleARN = "arn:aws:iam::" + lab.Account + ":role/nobody" }, kinds(),
		"sts:AssumeRoleWithWebIdentity", "role/nobody")
}

// withoutRule takes the rules that speak of the resource out of ClusterRoles, and leaves out no
// object.
func withoutRule(t *testing.T, resource string) func(*unstructured.Unstructured) bool {
	t.Helper()
	return func(o *unstructured.Unstructured) bool {
		if o.GetKind() != "ClusterRole" {
			return false
		}
		rules, _, err := unstructured.NestedSlice(o.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		smaller := slices.DeleteFunc(slices.Clone(rules), func(rule any) bool {
			named, _, err := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			return err == nil && slices.Contains(named, resource)
		})
		if len(smaller) == len(rules) {
			t.Errorf("no rule of %s speaks of %s", o.GetName(), resource)
		}
		if err := unstructured.SetNestedSlice(o.Object, smaller, "rules"); err != nil {
			t.Fatal(err)
		}
		return false
	}
}

// role makes a role for the daemon in the namespace, which may see the cluster.
func (d *daemonLab) role(t *testing.T, name, namespace, cluster string) (arn string) {
	t.Helper()
	found, err := d.aws.Cluster(t.Context(), d.ClusterName)
	if err != nil {
		t.Fatal(err)
	}
	role := aws.Role{
		Name: name, TrustPolicy: awsspec.IRSATrust(strings.TrimPrefix(found.Issuer, "https://"), lab.Account, "aws", namespace, install.DefaultServiceAccount),
		InlinePolicies: map[string]string{"see": fmt.Sprintf(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"eks:DescribeCluster","Resource":"arn:aws:eks:*:*:cluster/%s"}]}`, cluster)},
	}
	if role, err = d.aws.CreateRole(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	d.Settle() // else the daemon says first that the role does not trust it
	return role.ARN
}

// failsToStart deploys a daemon in a namespace of its own, without the objects
// that leaveOut names, and waits for it to have ended with one line that says
// all of wants.
func (d *daemonLab) failsToStart(t *testing.T, name string, change func(*install.Options), leaveOut func(*unstructured.Unstructured) bool, wants ...string) {
	t.Run(name, func(t *testing.T) {
		o := d.options
		o.Namespace, o.Name, o.Replicas = name, name, 1
		o.RoleARN = d.role(t, name, name, d.ClusterName)
		o.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
		change(&o)
		objects, err := install.Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		objects = slices.DeleteFunc(objects, leaveOut)
		d.apply(t, objects...)
		eventually(t, func() error { return d.hasFailed(t, name, wants) })
		if err := d.applier.Delete(t.Context(), kube.RefOf(objects[len(objects)-1]), ""); err != nil {
			t.Fatal(err)
		}
	})
}

// hasFailed checks that the only pod of the namespace is not ready and that its
// first life ended with one line that says all of wants.
func (d *daemonLab) hasFailed(t *testing.T, namespace string, wants []string) error {
	t.Helper()
	pods, err := d.Core.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
		return fmt.Errorf("%d pods, or one that has not started", len(pods.Items))
	}
	pod := pods.Items[0]
	status := pod.Status.ContainerStatuses[0]
	if status.Ready {
		t.Fatal("the daemon is ready")
	}
	raw, err := os.ReadFile(filepath.Join(d.LogDir(), namespace+"_"+pod.Name+"_"+status.Name+".log"))
	if err != nil {
		return err
	}
	if last := status.LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
		return fmt.Errorf("it has not ended with code 1: %+v; it wrote:\n%s", status, raw)
	}
	var said []string
	lives := 0
	for line := range strings.Lines(string(raw)) {
		for entry := range daemonlog.Entries([]byte(line)) {
			if entry.Message == "start" {
				lives++
			}
		}
		if text, ok := strings.CutPrefix(line, "karpenterd: "); lives < 2 && (ok || !strings.HasPrefix(line, "{")) {
			said = append(said, text)
		}
	}
	if len(said) != 1 || !containsAll(said[0], wants) {
		t.Fatalf("it said %q, want one line with %q", said, wants)
	}
	t.Log(strings.TrimSpace(said[0]))
	return nil
}
