package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

// lookInside reads the data source with access to a Kubernetes API.
func (c *cloud) lookInside(t *testing.T, access object) (object, []*tfprotov6.Diagnostic) {
	t.Helper()
	return hasty(t, with(c.config(), object{"kubernetes": access})).readData(clusterKind, object{"name": testCluster})
}

// putObject lets the object be there.
func putObject(c *fakeObjects, path string, o object) {
	c.change(path, func(object) object { return o })
}

func deployment(name string) object {
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name, "namespace": "karpenter", "labels": object{"app.kubernetes.io/name": name}}}
}

func lease(holder string, renewed time.Time) object {
	return object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": "karpenter-leader-election", "namespace": "karpenter"},
		"spec": object{"holderIdentity": holder, "renewTime": renewed.UTC().Format("2006-01-02T15:04:05.000000Z07:00")},
	}
}

func TestClusterData_KarpenterInTheClusterIsFound(t *testing.T) {
	const karpenterPath = "/apis/apps/v1/namespaces/karpenter/deployments/karpenter"
	stopped := deployment("karpenter") // as it is kept for the way back
	stopped["spec"] = object{"replicas": 0}
	for name, test := range map[string]struct {
		objects map[string]object
		sign    string // empty: it is not there
	}{
		"nothing":           {nil, ""},
		"its Deployment":    {map[string]object{karpenterPath: deployment("karpenter")}, "the Deployment karpenter/karpenter"},
		"it is stopped":     {map[string]object{karpenterPath: stopped}, ""},
		"its Lease":         {map[string]object{leasePath: lease("karpenter-7c9d_1", time.Now())}, "the Lease karpenter/karpenter-leader-election, held by karpenter-7c9d_1"},
		"a Lease it left":   {map[string]object{leasePath: lease("karpenter-7c9d_1", time.Now().AddDate(0, 0, -1))}, ""},
		"our daemon":        {map[string]object{deploymentPath: deployment("karpenterd"), leasePath: lease("karpenterd-5f-1", time.Now())}, ""},
		"a Lease of nobody": {map[string]object{leasePath: lease("", time.Now())}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, api := furnished(t), startObjects(t)
			for path, o := range test.objects {
				putObject(api, path, o)
			}
			got, diags := c.lookInside(t, object{"host": api.URL, "token": "t"})
			if got["karpenter_installed"] != (test.sign != "") {
				t.Errorf("karpenter_installed is %v", got["karpenter_installed"])
			}
			if test.sign == "" {
				onlyWarning(t, diags)
				return
			}
			onlyWarning(t, diags, "Karpenter is installed", test.sign, "take_over")
		})
	}
}

// Whoever reads the data source needs no access to the cluster.
func TestClusterData_WithoutTheKubernetesAPINothingIsSaidOfIt(t *testing.T) {
	forbids := startAPIServer(t)
	forbids.deny(http.StatusForbidden, http.StatusForbidden, http.StatusForbidden)
	for name, access := range map[string]object{
		"unreachable": {"kubernetes": object{"host": "https://127.0.0.1:1", "token": "t"}},
		"forbidden":   {"kubernetes": forbids.access(object{"token": "t"})},
		"unknown":     {"kubernetes": object{"host": unknown{}, "token": "t"}},
		"another":     {"eks": object{"cluster_name": "other"}},
		"none":        {},
	} {
		t.Run(name, func(t *testing.T) {
			c := furnished(t)
			got, diags := hasty(t, with(c.config(), access)).readData(clusterKind, object{"name": testCluster})
			onlyWarning(t, diags)
			if got["karpenter_installed"] != nil {
				t.Errorf("karpenter_installed is %v, want null", got["karpenter_installed"])
			}
		})
	}
}

// AWS does not know every node, and not an agent that is no add-on.
func TestClusterData_TheKubernetesAPIKnowsWhatAWSDoesNot(t *testing.T) {
	c, api := furnished(t), startObjects(t)
	c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.NodeGroups, k.Issuer = nil, "" })
	node := func(name string, labels object) {
		putObject(api, "/api/v1/nodes/"+name, object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": labels}})
	}
	node("of-a-pool", object{"kubernetes.io/os": "linux", "karpenter.sh/nodepool": "default"})
	node("of-windows", object{"kubernetes.io/os": "windows"})
	putObject(api, "/apis/apps/v1/namespaces/kube-system/daemonsets/eks-pod-identity-agent", object{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": object{"name": "eks-pod-identity-agent"}})
	got, diags := c.lookInside(t, object{"host": api.URL, "token": "t"})
	wantError(t, diags, "no nodes for the daemon")
	if got != nil && got["identity"] != "pod_identity" {
		t.Errorf("identity is %v", got["identity"])
	}
	node("hybrid", object{"kubernetes.io/os": "linux"})
	got, diags = c.lookInside(t, object{"host": api.URL, "token": "t"})
	onlyWarning(t, diags)
	if got["identity"] != "pod_identity" {
		t.Errorf("identity is %v", got["identity"])
	}
}

// A refresh and a destroy must go on when something is taken away from a daemon that runs.
func TestClusterData_WhereTheDaemonIsInstalledWhatIsMissingIsAWarning(t *testing.T) {
	c, api := furnished(t), startObjects(t)
	putObject(api, deploymentPath, deployment("karpenterd"))
	c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.NodeGroups, k.Issuer, k.AuthenticationMode = nil, "", "CONFIG_MAP" })
	_, diags := c.lookInside(t, object{"host": api.URL, "token": "t"})
	wantNoError(t, diags)
	for i, want := range []string{"no access entries", "cannot get an IAM role", "no nodes for the daemon"} {
		if len(diags) != 3 || !strings.Contains(diags[i].Summary, want) {
			t.Fatalf("want a warning %q: %v", want, texts(diags))
		}
	}
}
