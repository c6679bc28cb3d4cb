//go:build lab

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// nodeClassSaysWhatIsWrong has a class for each mistake: its condition names
// the field and the remedy, its pool is not ready, its pods wait and say why,
// and once it is mended they run.
func nodeClassSaysWhatIsWrong(t *testing.T, d *daemonLab) {
	nothing := []any{map[string]any{"tags": map[string]any{"team": "nobody"}}}
	alias := func(text string) []any { return []any{map[string]any{"alias": text}} }
	for _, c := range []struct {
		name      string
		change    map[string]any
		condition string
		wants     []string
	}{
		{"no-subnets", map[string]any{"subnetSelectorTerms": nothing}, awsv1.ConditionSubnetsReady, []string{"spec.subnetSelectorTerms", "team=nobody", "tag the subnets"}},
		{"no-groups", map[string]any{"securityGroupSelectorTerms": nothing}, awsv1.ConditionSecurityGroupsReady, []string{"spec.securityGroupSelectorTerms", "team=nobody", "tag the groups"}},
		{"no-image", map[string]any{"amiSelectorTerms": alias("al2023@v20200101")}, awsv1.ConditionAMIsReady, []string{"spec.amiSelectorTerms", "al2023@v20200101", "use al2023@latest"}},
		{"other-family", map[string]any{"amiSelectorTerms": alias("windows2022@latest")}, awsv1.ConditionValidationSucceeded, []string{"spec.amiSelectorTerms[0].alias", "no nodes with Windows"}},
		{"no-setting", map[string]any{"kubelet": map[string]any{"imageMaximumAge": "10m"}}, awsv1.ConditionValidationSucceeded, []string{"spec.kubelet.imageMaximumAge", "no such field", "correct its name"}},
		{"no-profile", map[string]any{"instanceProfile": "nowhere"}, awsv1.ConditionInstanceProfileReady, []string{"spec.instanceProfile", `"nowhere"`, "create it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := pool{name: c.name, class: c.name}
			d.apply(t, d.nodeClass(c.name, c.change), p.object())
			d.deploy(t, p, 1)
			eventually(t, func() error { return d.saysWrong(t.Context(), p, c.condition, c.wants) })
			if n := len(d.everLaunched(p)); n > 0 {
				t.Errorf("%d instances were launched from it", n)
			}
			d.apply(t, d.nodeClass(c.name, nil))
			d.running(t, p, 1)
			d.scale(t, p, 0)
			d.empties(t, p)
		})
	}
}

// nodeClassSelectsItsOwnImages has a class with images of its own account: the instance
// runs the newest image of its architecture.
func nodeClassSelectsItsOwnImages(t *testing.T, d *daemonLab) {
	images := map[string]string{}
	seed := func(name, arch string, age time.Duration) {
		images[name] = d.Cloud.EC2.SeedImage(ec2sim.Image{Name: name, Arch: arch, OwnerID: "111122223333", Created: time.Now().Add(-age), Tags: map[string]string{"team": "images"}})
	}
	seed("own-1", "amd64", 3*time.Hour)
	seed("own-2", "amd64", 2*time.Hour)
	seed("own-3", "arm64", time.Hour)
	p := pool{name: "own-images", class: "own-images", requirements: map[string][]string{instanceType: {"c6i.xlarge"}}}
	d.apply(t, d.nodeClass(p.class, map[string]any{
		"amiFamily": "AL2023", "amiSelectorTerms": []any{map[string]any{"tags": map[string]any{"team": "images"}}, map[string]any{"name": "own-*", "owner": "111122223333"}},
	}))
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	claim, instance := d.theOne(t, p)
	if instance.ImageID != images["own-2"] || claim.Status.ImageID != images["own-2"] {
		t.Errorf("the instance runs image %s, and its NodeClaim says %s, want %s", instance.ImageID, claim.Status.ImageID, images["own-2"])
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// nodeClassOfBottlerocket has a class with an alias of Bottlerocket, settings of its own and
// kubelet settings: the node has what the plan counted with, and runs its pods.
func nodeClassOfBottlerocket(t *testing.T, d *daemonLab) {
	p := pool{name: "bottlerocket", class: "bottlerocket", requirements: map[string][]string{instanceType: {"m6i.large"}}}
	d.apply(t, d.nodeClass(p.class, map[string]any{
		"amiSelectorTerms": []any{map[string]any{"alias": "bottlerocket@v1.48.0"}},
		"userData":         "[settings.kernel.sysctl]\n\"vm.max_map_count\" = \"262144\"\n",
		"kubelet":          map[string]any{"maxPods": 20, "systemReserved": map[string]any{"memory": "200Mi"}},
	}))
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	claim, instance := d.theOne(t, p)
	if !strings.HasPrefix(instance.ImageName, "bottlerocket-aws-k8s-") || !strings.Contains(instance.ImageName, "-x86_64-v1.48.0-") || !strings.Contains(instance.UserData, "262144") {
		t.Errorf("image %s with\n%s", instance.ImageName, instance.UserData)
	}
	node, err := d.Core.CoreV1().Nodes().Get(t.Context(), claim.Status.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceEphemeralStorage} {
		if planned, is := claim.Status.Allocatable[name], node.Status.Allocatable[name]; planned.Cmp(is) != 0 {
			t.Errorf("%s: %v was planned, and the node has %v", name, &planned, &is)
		}
	}
	// The plan leaves out some memory for the hypervisor, and never counts with too much.
	if planned, is := claim.Status.Allocatable.Memory(), node.Status.Allocatable.Memory(); planned.Cmp(*is) > 0 {
		t.Errorf("memory: %v was planned, and the node has %v", planned, is)
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// nodeClassRoleMakesTheProfile has a class with a role: its instance has a profile with
// the role, which goes with the class.
func nodeClassRoleMakesTheProfile(t *testing.T, d *daemonLab) {
	p := pool{name: "by-role", class: "by-role"}
	class := d.nodeClass(p.class, map[string]any{"role": "node"})
	unstructured.RemoveNestedField(class.Object, "spec", "instanceProfile")
	d.apply(t, class)
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	path := d.profilePath(t, p.class)
	made, err := d.aws.InstanceProfiles(t.Context(), path)
	if err != nil || len(made) != 1 || made[0].Role != "node" {
		t.Fatalf("instance profiles %+v: %v", made, err)
	}
	profile := made[0]
	claim, instance := d.theOne(t, p)
	if instance.ProfileARN != profile.ARN || claim.Annotations[awsv1.AnnotationInstanceProfile] != profile.Name {
		t.Errorf("the instance has the profile %s, and the annotations of its NodeClaim are %v, want %s", instance.ProfileARN, claim.Annotations, profile.ARN)
	}
	if err := d.NodePools.Delete(t.Context(), p.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.EC2NodeClasses.Delete(t.Context(), p.class, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := d.EC2NodeClasses.Get(t.Context(), p.class, metav1.GetOptions{})
		if err == nil {
			return errors.New("the class is still there")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	left, err := d.aws.InstanceProfiles(t.Context(), path)
	if err != nil || len(left) > 0 {
		t.Errorf("after the class: profiles %+v, %v", left, err)
	}
}

// profilePath is the IAM path of the profiles that the daemon makes for the class.
func (d *daemonLab) profilePath(t *testing.T, class string) string {
	t.Helper()
	found, err := d.EC2NodeClasses.Get(t.Context(), class, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return awsspec.NodeProfile{Region: d.Region, Cluster: d.ClusterName, NodeClassUID: string(found.UID)}.Path()
}

func (d *daemonLab) saysWrong(ctx context.Context, p pool, condition string, wants []string) error {
	class, err := d.EC2NodeClasses.Get(ctx, p.class, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c := class.Conditions().Get(condition); !c.IsFalse() || !containsAll(c.Message, wants) || !class.Conditions().Get(v1.ConditionReady).IsFalse() {
		return fmt.Errorf("condition %s is %+v, want False with %q", condition, c, wants)
	}
	found, err := d.NodePools.Get(ctx, p.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c := found.Conditions().Get(v1.ConditionNodeClassReady); !c.IsFalse() || !strings.Contains(c.Message, p.class) || !found.Conditions().Get(v1.ConditionReady).IsFalse() {
		return fmt.Errorf("the pool's condition is %+v, want False with the class's name", c)
	}
	events, err := d.Core.CoreV1().Events(testNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if strings.HasPrefix(e.InvolvedObject.Name, p.name+"-") && strings.Contains(e.Message, fmt.Sprintf("EC2NodeClass %s is not ready", p.class)) {
			return nil
		}
	}
	return fmt.Errorf("no event tells the pod why it waits")
}

func containsAll(text string, wants []string) bool {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			return false
		}
	}
	return true
}
