//go:build lab

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// refusals is how often the cluster refuses whoever has made it.
const refusals = 2

// TestAccComplete_FromNothingAndBackInOneApplyEach applies examples/complete as it is on
// disk, except that stand-ins are in the place of the modules: what they give is unknown at
// plan time, the cluster refuses its creator at first, and they fail if they are destroyed
// while something of ours is left.
func TestAccComplete_FromNothingAndBackInOneApplyEach(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			ground := l.emptyAccount(t)
			w := workspace{cli, completeExample(t), map[string]func() (tfprotov6.ProviderServer, error){
				"karpenter": providerserver.NewProtocol6WithError(provider.New("1.2.3", releaseDigest)()),
				"standin":   providerserver.NewProtocol6WithError(&standin{ground}),
			}}
			t.Setenv("TF_VAR_name", "complete")
			t.Setenv("TF_VAR_region", l.Region)
			t.Setenv("TF_VAR_zones", fmt.Sprintf(`["%[1]sa", "%[1]sb"]`, l.Region))
			t.Cleanup(func() { w.forget(t, ground) })

			w.must(t, "init")
			w.must(t, "plan", "-out=first")
			if names := w.knownNames(t, "first"); len(names) > 0 {
				t.Errorf("the name of the cluster is known at plan time in %v", names)
			}
			w.must(t, "apply", "first")
			if n := ground.unseen(); n != 0 {
				t.Errorf("the cluster has refused the provider %d times, want %d", refusals-n, refusals)
			}
			if err := errors.Join(l.launch(t), l.runs()); err != nil {
				t.Fatal(err)
			}
			if printed, code, err := w.run(t, []int{0, 2}, "plan", "-detailed-exitcode"); err != nil || code != 0 {
				t.Errorf("the second plan is not empty: %v\n%s", err, printed)
			}
			w.must(t, "destroy", "-auto-approve")
			if err := errors.Join(ground.settled(), ground.left(t.Context()), l.endSpotRole(t.Context())); err != nil {
				t.Error(err)
			}
			if err := l.kubeDeleteWorkload(); err != nil {
				t.Error(err)
			}
		})
	}
}

// knownNames are the addresses of our resources whose cluster_name is known in the plan.
func (w workspace) knownNames(t *testing.T, file string) (known []string) {
	t.Helper()
	var plan struct {
		Changes []struct {
			Address string `json:"address"`
			Change  struct {
				Actions []string       `json:"actions"`
				After   map[string]any `json:"after"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(w.must(t, "show", "-json", file), &plan); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, change := range plan.Changes {
		if !strings.HasPrefix(change.Address, "karpenter_") {
			continue
		}
		ours++
		if _, has := change.Change.After["cluster_name"]; has {
			known = append(known, change.Address)
		}
	}
	if ours == 0 {
		t.Errorf("the plan has nothing of ours: %+v", plan)
	}
	return known
}

// forget removes what a test that has failed has left, whatever the ground says.
func (w workspace) forget(t *testing.T, ground *account) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ground.give()
	if _, _, err := w.run(t, []int{0}, "destroy", "-auto-approve"); err != nil {
		t.Error(err)
	}
}

// completeExample is a copy of examples/complete with the stand-ins in the place of its
// modules, and without the AWS provider.
func completeExample(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	standins, err := filepath.Abs("testdata/standin")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../examples/complete/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, diags := hclwrite.ParseConfig(text, name, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, block := range file.Body().Blocks() {
			switch {
			case block.Type() == "terraform":
				block.Body().FirstMatchingBlock("required_providers", nil).Body().RemoveAttribute("aws")
			case block.Type() == "provider" && block.Labels()[0] == "aws":
				file.Body().RemoveBlock(block)
			case block.Type() == "module":
				block.Body().SetAttributeValue("source", cty.StringVal(filepath.Join(standins, block.Labels()[0])))
				block.Body().RemoveAttribute("version")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// account is the ground of the stand-ins: the simulated AWS account of a laboratory whose
// cluster passes for one that the stand-in of the EKS module makes.
type account struct {
	*theLab
	mu          sync.Mutex
	made, gone  map[string]int // things by kind
	unseenCalls func() int
	yields      bool // nothing comes too early or goes too early any more
}

// emptyAccount is an account whose cluster does not know the deployer, as one that does not
// exist yet. After the test the cluster knows the deployer again.
func (l *theLab) emptyAccount(t *testing.T) *account {
	t.Helper()
	a := &account{theLab: l, made: map[string]int{}, gone: map[string]int{}}
	if err := a.removeEntry(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Cloud.EKS.CreateAccessEntry(l.ClusterName, l.DeployerARN, nil, ekssim.ClusterAdminPolicy); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (a *account) removeEntry(ctx context.Context) error {
	entry, err := a.aws.GetAccessEntry(ctx, a.ClusterName, a.DeployerARN)
	if err != nil {
		return err
	}
	return a.aws.DeleteAccessEntry(ctx, a.ClusterName, a.DeployerARN, entry.ARN)
}

// create makes a thing. Everything that the modules make comes before the daemon.
func (a *account) create(ctx context.Context, kind string) (name string, values []string, err error) {
	if err := a.left(ctx); err != nil {
		return "", nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[kind]++
	name = fmt.Sprintf("%s %d", kind, a.made[kind])
	switch kind {
	case "cluster":
		name = a.ClusterName
	case "subnets":
		values = a.VPC.SubnetIDs[:2]
	case "node security group":
		name = a.VPC.ClusterSecurityGroupID
	case "access entry":
		if err = a.Cloud.EKS.CreateAccessEntry(a.ClusterName, a.DeployerARN, nil, ekssim.ClusterAdminPolicy); err == nil {
			a.unseenCalls, err = a.Cloud.EKS.DelayAccessEntry(a.ClusterName, a.DeployerARN, refusals)
		}
	}
	return name, values, err
}

// destroy removes a thing. Nothing that the modules made goes before the daemon, the nodes
// and the instances.
func (a *account) destroy(ctx context.Context, kind string) error {
	early := a.left(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if early != nil && !a.yields {
		return early
	}
	a.gone[kind]++
	if kind == "access entry" {
		return a.removeEntry(ctx)
	}
	return nil
}

// unseen is how many lookups are still to miss the deployer's access entry.
func (a *account) unseen() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unseenCalls()
}

// settled fails unless each kind of thing was made, and all that was made is gone.
func (a *account) settled() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, kind := range []string{"vpc", "subnets", "route to the NAT gateway", "cluster", "access entry", "node group", "add-on", "OIDC provider"} {
		if a.made[kind] == 0 {
			return fmt.Errorf("no %s was made: %v", kind, a.made)
		}
	}
	if !maps.Equal(a.made, a.gone) {
		return fmt.Errorf("made %v, and destroyed %v", a.made, a.gone)
	}
	return nil
}

// give ends the rules.
func (a *account) give() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.yields = true
}

// left fails while the daemon, a node of a node pool or an instance of one exists. It looks
// as the administrator: the cluster may not know the deployer.
func (l *theLab) left(ctx context.Context) error {
	_, err := l.Admin.AppsV1().Deployments("karpenter").Get(ctx, "karpenterd", metav1.GetOptions{})
	if err = gone("the daemon", err, apierrors.IsNotFound); err != nil {
		return err
	}
	nodes, err := l.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		return fmt.Errorf("node %s is still there", node.Name)
	}
	alive := slices.DeleteFunc(l.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool {
		return i.Tags[awsspec.TagNodePool] == "" || i.State == ec2sim.StateTerminated
	})
	if len(alive) > 0 {
		return fmt.Errorf("instance %s is %s", alive[0].ID, alive[0].State)
	}
	return nil
}

// runs fails unless there is a node of the node pool.
func (l *theLab) runs() error {
	nodes, err := l.Admin.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=default"})
	if err == nil && len(nodes.Items) == 0 {
		err = errors.New("the workload runs, and no node of the pool is there")
	}
	return err
}

// kubeDeleteWorkload removes the workload as the administrator.
func (l *theLab) kubeDeleteWorkload() error {
	err := l.Admin.AppsV1().Deployments(workload().Namespace).Delete(context.Background(), workload().Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
