//go:build lab

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// patience is how long a step of a test may take on a busy machine. What goes
// right takes a fraction of it.
const patience = 3 * time.Minute

// timeFactor is the laboratory's and the daemon's: a spot notice is long enough to
// replace a node, and not two minutes.
const (
	timeFactor = 6
	spotNotice = 2 * time.Minute / timeFactor
)

const (
	bootDelay     = 300 * time.Millisecond
	podGrace      = 2 // seconds
	nodeClassName = "default"
)

// daemonLab is a laboratory with everything in it that the provider would have
// made, and made by the same identity: the deployer, never the administrator.
type daemonLab struct {
	*lab.Lab
	*kube.Clients               // the deployer's
	aws           *aws.Clients  // likewise
	applier       *kube.Applier // likewise
	options       install.Options
}

// startDaemonLab starts a laboratory and gives the account what the daemon
// needs of AWS. It sets the environment that the SDK's credential chain reads.
func startDaemonLab(t *testing.T, o lab.Options) *daemonLab {
	t.Helper()
	binary, err := toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd")
	if err != nil {
		t.Fatal(err)
	}
	o.Dir, o.DaemonBinary, o.BootDelay, o.TimeFactor = t.TempDir(), binary, bootDelay, cmp.Or(o.TimeFactor, timeFactor)
	l, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemonLab{Lab: l}
	t.Cleanup(func() {
		if _, report, races := strings.Cut(d.logs(), "WARNING: DATA RACE"); races {
			t.Error("the daemon has a data race: ", report)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, e := range l.Env() {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	if d.aws, err = aws.New(t.Context(), aws.Config{Region: l.Region}); err != nil {
		t.Fatal(err)
	}
	config := kube.ConfigFromEKS(l.Endpoint, l.CA, d.aws.EKSTokenSource(l.ClusterName))
	config.UserAgent = "deployer"
	config.QPS, config.Burst = 500, 500 // tests poll
	if d.Clients, err = kube.NewClients(config); err != nil {
		t.Fatal(err)
	}
	if d.applier, err = kube.NewApplier(config); err != nil {
		t.Fatal(err)
	}
	if err := d.furnishAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.noteRights(t)
	return d
}

// furnishAccount makes roles, access entry, instance profile, discovery tags,
// queue and event rules.
func (d *daemonLab) furnishAccount(ctx context.Context) error {
	const partition = "aws"
	cluster, err := d.aws.Cluster(ctx, d.ClusterName)
	if err != nil {
		return err
	}
	node, err := d.aws.CreateRole(ctx, aws.Role{
		Name: "node", TrustPolicy: awsspec.NodeTrust(partition), ManagedPolicies: awsspec.NodeManagedPolicyARNs(partition),
	})
	if err != nil {
		return err
	}
	if _, err := d.aws.CreateAccessEntry(ctx, aws.AccessEntry{Cluster: d.ClusterName, PrincipalARN: node.ARN, Type: "EC2_LINUX"}); err != nil {
		return err
	}
	if _, err := d.aws.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "node", Role: "node"}); err != nil {
		return err
	}
	ids := append(slices.Clone(d.VPC.SubnetIDs), d.VPC.ClusterSecurityGroupID)
	if _, err := d.aws.CreateNetworkTag(ctx, awsspec.TagDiscovery, d.ClusterName, ids...); err != nil {
		return err
	}
	queueARN, err := d.furnishQueue(ctx, partition)
	if err != nil {
		return err
	}
	controller := aws.Role{Name: "controller", TrustPolicy: awsspec.IRSATrust(
		strings.TrimPrefix(cluster.Issuer, "https://"), lab.Account, partition, install.DefaultNamespace, install.DefaultServiceAccount)}
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: partition, Region: d.Region, Account: lab.Account, Cluster: d.ClusterName, NodeRoleARNs: []string{node.ARN}, QueueARN: queueARN,
	}) {
		made, err := d.aws.CreatePolicy(ctx, aws.Policy{Name: p.Name, Document: p.Document})
		if err != nil {
			return err
		}
		controller.ManagedPolicies = append(controller.ManagedPolicies, made.ARN)
	}
	if controller, err = d.aws.CreateRole(ctx, controller); err != nil {
		return err
	}
	d.options = install.Options{
		Image: install.ReleaseImage("0.0.0").String(), RoleARN: controller.ARN, ClusterName: d.ClusterName, Region: d.Region,
		QueueName: awsspec.QueueName(d.ClusterName),
	}
	return nil
}

func (d *daemonLab) furnishQueue(ctx context.Context, partition string) (arn string, err error) {
	name := awsspec.QueueName(d.ClusterName)
	arn = fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition, d.Region, lab.Account, name)
	_, err = d.aws.CreateQueue(ctx, aws.Queue{
		Name: name, Policy: awsspec.QueuePolicy(arn, partition), MessageRetention: awsspec.QueueRetentionSeconds * time.Second,
	})
	if err != nil {
		return "", err
	}
	for _, r := range awsspec.EventRules(d.ClusterName) {
		if err := d.createRule(ctx, r, arn); err != nil {
			return "", err
		}
	}
	return arn, nil
}

func (d *daemonLab) createRule(ctx context.Context, r awsspec.Rule, queueARN string) error {
	_, err := d.aws.CreateRule(ctx, aws.Rule{
		Name: r.Name, Description: r.Description, Pattern: r.Pattern, TargetID: awsspec.QueueTargetID, TargetARN: queueARN,
	})
	return err
}

// apply declares the objects in their order as the provider does.
func (d *daemonLab) apply(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, o := range objects {
		if _, err := d.applier.Apply(ctx, o, false); err != nil {
			t.Fatal(err)
		}
	}
}

// installDaemon deploys the daemon and waits for both replicas.
func (d *daemonLab) installDaemon(t *testing.T) {
	t.Helper()
	objects, err := install.Objects(d.options)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(t, objects...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := d.applier.Wait(ctx, kube.RefOf(objects[len(objects)-1]), kube.RolledOut); err != nil {
		t.Fatal(err, "\n", d.logTail())
	}
}

// object makes an unstructured object.
func object(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// nodeClass is an EC2NodeClass by discovery tags; change alters its spec.
func (d *daemonLab) nodeClass(name string, change map[string]any) *unstructured.Unstructured {
	discovery := []any{map[string]any{"tags": map[string]any{awsspec.TagDiscovery: d.ClusterName}}}
	spec := map[string]any{
		"subnetSelectorTerms": discovery, "securityGroupSelectorTerms": discovery,
		"amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "instanceProfile": "node",
	}
	maps.Copy(spec, change)
	return object("karpenter.k8s.aws/v1", "EC2NodeClass", name, spec)
}

// pool is a NodePool whose nodes have the label e2e=<name>, so that only the
// pods of one test land on them.
type pool struct {
	name, class  string
	spot         bool
	reserved     bool   // before on-demand
	alsoSpot     bool   // beside on-demand
	taint        string // key; NoSchedule
	requirements map[string][]string
	grace        string // terminationGracePeriod
	after        string // consolidateAfter, 0s where empty
	replicas     int64  // of a static pool; 0 of another
	budget       string // how many nodes may go at once; the default where empty
}

func (p pool) object() *unstructured.Unstructured {
	capacity := "on-demand"
	labels := map[string]any{"e2e": p.name}
	class := p.class
	if class == "" {
		class = nodeClassName
	}
	template := map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": class},
	}
	if p.spot {
		capacity = "spot"
		labels["node-group-type"] = "spot"
		template["taints"] = []any{map[string]any{"key": "spot", "value": "only", "effect": "NoSchedule"}}
	}
	if p.taint != "" {
		template["taints"] = []any{map[string]any{"key": p.taint, "effect": "NoSchedule"}}
	}
	capacities := []string{capacity}
	if p.reserved {
		capacities = append(capacities, "reserved")
	}
	if p.alsoSpot {
		capacities = append(capacities, "spot")
	}
	requirements := []any{requirement("karpenter.sh/capacity-type", capacities...), requirement("kubernetes.io/arch", "amd64")}
	for _, key := range slices.Sorted(maps.Keys(p.requirements)) {
		requirements = append(requirements, requirement(key, p.requirements[key]...))
	}
	template["requirements"] = requirements
	if p.grace != "" {
		template["terminationGracePeriod"] = p.grace
	}
	spec := map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": template}}
	disruption := map[string]any{}
	if p.after != "" {
		disruption["consolidateAfter"] = p.after
	}
	if p.budget != "" {
		disruption["budgets"] = []any{map[string]any{"nodes": p.budget}}
	}
	if len(disruption) > 0 {
		spec["disruption"] = disruption
	}
	if p.replicas > 0 {
		spec["replicas"] = p.replicas
	}
	return object("karpenter.sh/v1", "NodePool", p.name, spec)
}

func requirement(key string, values ...string) map[string]any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return map[string]any{"key": key, "operator": "In", "values": list}
}

// createPool applies the pool and waits until it is ready. The test's end
// deletes it with its nodes.
func (d *daemonLab) createPool(t *testing.T, p pool) {
	t.Helper()
	d.apply(t, p.object())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := d.applier.Wait(ctx, kube.RefOf(p.object()), kube.ConditionTrue("Ready")); err != nil {
		t.Fatal(err, "\n", d.logTail())
	}
}

// logs returns what the daemon's replicas have written, of all namespaces.
func (d *daemonLab) logs() string { return d.logsOf(install.DefaultName) }

// logsOf returns what the containers of that name have written on the bootstrap nodes.
func (d *daemonLab) logsOf(container string) string {
	var all strings.Builder
	entries, err := os.ReadDir(d.LogDir())
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_"+container+".log") {
			raw, err := os.ReadFile(filepath.Join(d.LogDir(), e.Name()))
			if err != nil {
				return err.Error()
			}
			all.Write(raw)
		}
	}
	return all.String()
}

func (d *daemonLab) logTail() string {
	text := d.logs()
	return text[max(0, len(text)-20000):]
}

// part runs a part of a test and shows what the daemon wrote if it fails.
func (d *daemonLab) part(t *testing.T, name string, run func(*testing.T, *daemonLab)) {
	t.Run(name, func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(d.logTail())
			}
		})
		run(t, d)
	})
}

// together runs parts side by side that do not disturb one another.
func (d *daemonLab) together(t *testing.T, name string, parts map[string]func(*testing.T, *daemonLab)) {
	t.Run(name, func(t *testing.T) {
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			d.part(t, part, func(t *testing.T, d *daemonLab) {
				t.Parallel()
				parts[part](t, d)
			})
		}
	})
}
