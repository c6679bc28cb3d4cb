//go:build lab && peer

package peer

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const (
	partition = "aws"
	namespace = "kube-system" // where Karpenter's documentation installs it
	nodeRole  = "KarpenterNodeRole-lab"
	control   = "lab-karpenter" // the controller's role
	bootDelay = 2 * time.Second
	patience  = 3 * time.Minute // for each step
)

// peerLab is a laboratory with Karpenter installed by the deployer as its
// documentation says.
type peerLab struct {
	*lab.Lab
	*kube.Clients               // the deployer's
	aws           *aws.Clients  // likewise
	applier       *kube.Applier // likewise
}

// must unwraps what cannot fail unless the test does: must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// demo is the laboratory of the demo.
func demo() lab.Options {
	return lab.Options{Progress: os.Stderr, StartTime: time.Second, StopTime: 3 * time.Second, BootDelay: bootDelay}
}

func startPeerLab(t *testing.T, options lab.Options) *peerLab {
	t.Helper()
	tools := must(toolchain.Ensure(t.Context(), os.Stderr, toolchain.KarpenterAWS))(t)
	chart := findRelease(t).chart(t)
	options.Dir, options.Images = t.TempDir(), map[string]string{chart.image(t): tools[toolchain.KarpenterAWS].Path}
	l := must(lab.Start(t.Context(), options))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, e := range l.Env() {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	p := &peerLab{Lab: l, aws: must(aws.New(t.Context(), aws.Config{Region: l.Region}))(t)}
	config := kube.ConfigFromEKS(l.Endpoint, l.CA, p.aws.EKSTokenSource(l.ClusterName))
	config.UserAgent = "deployer"
	config.QPS, config.Burst = 500, 500 // the test polls
	p.Clients = must(kube.NewClients(config))(t)
	p.applier = must(kube.NewApplier(config))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.logTail())
		}
	})
	p.install(t, chart, p.furnishAccount(t))
	return p
}

// furnishAccount makes node role with access entry, discovery tags, queue with
// rules, and the controller's role, whose ARN it returns. Instance profiles are
// left to the controller.
func (p *peerLab) furnishAccount(t *testing.T) (controllerARN string) {
	t.Helper()
	ctx := t.Context()
	node := must(p.aws.CreateRole(ctx, aws.Role{
		Name: nodeRole, TrustPolicy: awsspec.NodeTrust(partition), ManagedPolicies: awsspec.NodeManagedPolicyARNs(partition),
	}))(t)
	must(p.aws.CreateAccessEntry(ctx, aws.AccessEntry{Cluster: p.ClusterName, PrincipalARN: node.ARN, Type: "EC2_LINUX"}))(t)
	ids := append(slices.Clone(p.VPC.SubnetIDs), p.VPC.ClusterSecurityGroupID)
	must(p.aws.CreateNetworkTag(ctx, awsspec.TagDiscovery, p.ClusterName, ids...))(t)
	queueARN := fmt.Sprintf("arn:aws:sqs:%s:%s:%s", p.Region, lab.Account, p.ClusterName)
	must(p.aws.CreateQueue(ctx, aws.Queue{
		Name: p.ClusterName, Policy: awsspec.QueuePolicy(queueARN, partition), MessageRetention: awsspec.QueueRetentionSeconds * time.Second,
	}))(t)
	for _, r := range awsspec.EventRules(p.ClusterName) {
		must(p.aws.CreateRule(ctx, aws.Rule{
			Name: r.Name, Description: r.Description, Pattern: r.Pattern, TargetID: awsspec.QueueTargetID, TargetARN: queueARN,
		}))(t)
	}
	cluster := must(p.aws.Cluster(ctx, p.ClusterName))(t)
	controller := aws.Role{Name: control, TrustPolicy: awsspec.IRSATrust(
		strings.TrimPrefix(cluster.Issuer, "https://"), lab.Account, partition, namespace, "karpenter")}
	for name, document := range controllerPolicies(t, p.Lab, node.ARN, queueARN) {
		made := must(p.aws.CreatePolicy(ctx, aws.Policy{Name: "KarpenterController" + name + "Policy-" + p.ClusterName, Document: document}))(t)
		controller.ManagedPolicies = append(controller.ManagedPolicies, made.ARN)
	}
	slices.Sort(controller.ManagedPolicies)
	return must(p.aws.CreateRole(ctx, controller))(t).ARN
}

// install applies CRDs and chart and waits for the controller. There is one
// replica, because it listens on every address of this machine, and so nothing
// to spread.
func (p *peerLab) install(t *testing.T, c chart, roleARN string) {
	t.Helper()
	c.set(t, int64(1), "replicas")
	c.set(t, []any{}, "topologySpreadConstraints")
	unstructured.RemoveNestedField(c.values, "affinity", "podAntiAffinity")
	c.set(t, map[string]any{"eks.amazonaws.com/role-arn": roleARN}, "serviceAccount", "annotations")
	c.set(t, p.ClusterName, "settings", "clusterName")
	c.set(t, p.ClusterName, "settings", "interruptionQueue")
	c.set(t, p.Endpoint, "settings", "clusterEndpoint")
	size := map[string]any{"cpu": "1", "memory": "1Gi"}
	c.set(t, map[string]any{"requests": size, "limits": size}, "controller", "resources")
	// In a cluster it would be found at a fixed path that local processes lack.
	c.set(t, []any{map[string]any{"name": "LEADER_ELECTION_NAMESPACE", "value": namespace}}, "controller", "env")
	c.set(t, freePort(t), "controller", "metrics", "port")
	c.set(t, freePort(t), "controller", "healthProbe", "port")
	p.apply(t, c.definitions(t)...)
	objects := c.render(t)
	p.apply(t, objects...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(p.applier.Wait(ctx, kube.RefOf(objects[len(objects)-1]), kube.RolledOut))(t)
}

// freePort is a port that nobody listens on now.
func freePort(t *testing.T) int64 {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return int64(l.Addr().(*net.TCPAddr).Port)
}

func (p *peerLab) apply(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, o := range objects {
		must(p.applier.Apply(ctx, o, false))(t)
	}
}

// logTail is what the controller wrote last.
func (p *peerLab) logTail() string {
	files, err := filepath.Glob(filepath.Join(p.LogDir(), namespace+"_karpenter*.log"))
	if err != nil || len(files) == 0 {
		return "the controller has no log"
	}
	raw, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-8000):])
}
