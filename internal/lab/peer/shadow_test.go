//go:build lab && peer

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// shadowName is the namespace, the role and the service account of the shadow.
const shadowName = "observer"

// TestPeer_AShadowSeesWhatKarpenterLaunchesAndTouchesNothing runs a shadow beside the unmodified
// controller of Karpenter. What it asks of the API server and of AWS is what these have noted.
func TestPeer_AShadowSeesWhatKarpenterLaunchesAndTouchesNothing(t *testing.T) {
	options := demo()
	options.DaemonBinary = must(toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd"))(t)
	p := startPeerLab(t, options)
	class, pool := p.nodeClass(), smallNodes(nodePool())
	p.apply(t, class, pool)
	p.installShadow(t)
	p.eventually(t, func(context.Context) error {
		_, err := p.logged(shadowName, "elected as a shadow")
		return err
	})
	time.Sleep(2 * time.Second) // the first look is over: what is launched from now on is compared

	must(p.Core.AppsV1().Deployments("default").Create(t.Context(), inflate(), metav1.CreateOptions{}))(t)
	p.scale(t, replicas)
	p.eventually(t, p.allRunOnJoinedNodes)
	var compared map[string]any
	p.eventually(t, func(context.Context) (err error) {
		compared, err = p.logged(shadowName, "another program has launched nodes")
		return err
	})
	t.Logf("the shadow says: %v", compared)
	nodes, theirs, ours := compared["nodes"], compared["dollars_per_hour"], compared["would_cost_dollars_per_hour"]
	if int(nodes.(float64)) != len(p.instances()) || compared["pods"].(float64) != replicas || ours.(float64) <= 0 || ours.(float64) > theirs.(float64) {
		t.Errorf("%v nodes for %v at %v an hour, in whose place ours would cost %v; %d instances run", nodes, compared["pods"], theirs, ours, len(p.instances()))
	}
	for _, seconds := range compared["seconds_after_the_last_pod"].([]any) {
		if seconds.(float64) < 0 || seconds.(float64) > 60 {
			t.Errorf("a NodeClaim was made %v s after its last pod", seconds)
		}
	}
	p.readsOnly(t)

	report := exec.CommandContext(t.Context(), options.DaemonBinary, "report", "--kubeconfig", p.Kubeconfig, "--namespace", shadowName)
	out, err := report.CombinedOutput()
	if err != nil {
		t.Fatalf("report: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	if !strings.Contains(string(out), "another program has launched "+quantity.Count(int64(len(p.instances())), "node")) {
		t.Error("the report does not say what the shadow has seen")
	}
}

// installShadow installs the shadow with a role that may read prices.
func (p *peerLab) installShadow(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	cluster := must(p.aws.Cluster(ctx, p.ClusterName))(t)
	policy := must(p.aws.CreatePolicy(ctx, aws.Policy{Name: shadowName, Document: awsspec.ShadowPolicy(p.Region)}))(t)
	role := must(p.aws.CreateRole(ctx, aws.Role{
		Name: shadowName, TrustPolicy: awsspec.IRSATrust(strings.TrimPrefix(cluster.Issuer, "https://"), lab.Account, partition, shadowName, shadowName),
		ManagedPolicies: []string{policy.ARN},
	}))(t)
	p.Settle()
	objects := must(install.Objects(install.Options{
		Namespace: shadowName, ServiceAccount: shadowName, Mode: install.ModeShadow, Image: install.ReleaseImage("0.0.0").String(), Replicas: 1,
		RoleARN: role.ARN, ClusterName: p.ClusterName, Region: p.Region,
		Pods: install.Pods{Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}},
	}))(t)
	p.apply(t, objects...)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	must(p.applier.Wait(ctx, kube.RefOf(objects[len(objects)-1]), kube.RolledOut))(t)
}

var errNotLogged = errors.New("no such line in the log yet")

// logged is the last line of the daemon's logs in the namespace with the message.
func (p *peerLab) logged(namespace, message string) (found map[string]any, err error) {
	files, err := filepath.Glob(filepath.Join(p.LogDir(), namespace+"_*.log"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil && strings.HasPrefix(strings.TrimSpace(str(fields["message"])), message) {
				found = fields
			}
		}
	}
	if found == nil {
		return nil, errNotLogged
	}
	return found, nil
}

func str(x any) string {
	text, _ := x.(string)
	return text
}

// readsOnly checks that the shadow has changed nothing but its Lease and its ConfigMap, and has
// asked AWS for offerings and prices alone.
func (p *peerLab) readsOnly(t *testing.T) {
	t.Helper()
	requests := must(p.RequestsOf(shadowName, shadowName))(t)
	if len(requests) < 10 {
		t.Errorf("only %d kinds of requests of the shadow were noted", len(requests))
	}
	for r := range requests {
		reads := slices.Contains([]string{"get", "list", "watch"}, r.Verb)
		own := r.Resource == "leases" && r.Group == "coordination.k8s.io" || r.Resource == "configmaps" && r.Verb == "patch"
		if !reads && !own {
			t.Errorf("the shadow has asked the API server to %s %s/%s%s", r.Verb, r.Group, r.Resource, r.Subresource)
		}
	}
	calls := map[string]int{}
	for _, c := range p.Cloud.Calls() {
		if !strings.Contains(c.Identity, ":assumed-role/"+shadowName+"/") {
			continue
		}
		if calls[c.Action]++; c.ErrorCode != "" {
			t.Errorf("AWS refused the shadow %s: %s", c.Action, c.ErrorCode)
		}
	}
	for _, want := range []string{"DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeSpotPriceHistory", "GetProducts"} {
		if calls[want] == 0 {
			t.Errorf("the shadow has not called %s", want)
		}
		delete(calls, want)
	}
	if len(calls) > 0 {
		t.Errorf("the shadow has called %v, too", calls)
	}
}
