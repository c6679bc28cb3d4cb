//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// TestAccWalkthrough_HCLSaysWhatTheManifestsSay applies the manifests of a walk-through as
// resources. The objects are as if kubectl had applied the manifests, and ready when the
// apply ends. A node is there when everything is destroyed, and nothing is left.
func TestAccWalkthrough_HCLSaysWhatTheManifestsSay(t *testing.T) {
	text, err := os.ReadFile("testdata/walkthrough.tf")
	if err != nil {
		t.Fatal(err)
	}
	openTofu(t).use(t)
	l := startLab(t)
	const class, pool = "karpenter_node_class.spot", "karpenter_node_pool.spot"
	config := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + string(text)
	run(t, func() error {
		_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
		return errors.Join(gone("definition", err, notInCluster), l.madeFor("spot", 0, 0, 0), l.kube.Delete(context.Background(), workload(), ""))
	},
		resource.TestStep{
			Config: config,
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(class, plancheck.ResourceActionCreate), plancheck.ExpectResourceAction(pool, plancheck.ResourceActionCreate)},
				PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			},
			Check: resource.ComposeTestCheckFunc(
				l.walkedAs,
				resource.TestCheckResourceAttr(class, "ready", "true"), resource.TestCheckResourceAttr(pool, "ready", "true"),
				func(*terraform.State) error {
					return errors.Join(l.launch(t, tolerant), l.madeFor("spot", 1, 1, 1))
				}),
		},
	)
}

// tolerant lets the pods run on the nodes of the walk-through, and on no others.
func tolerant(pod map[string]any) {
	pod["nodeSelector"] = map[string]any{"intent": "batch", "karpenter.sh/capacity-type": "spot"}
	pod["tolerations"] = []any{map[string]any{"key": "spot", "operator": "Equal", "value": "only", "effect": "NoSchedule"}}
}

// walkedAs fails unless both objects are ready and have the spec of their manifests.
func (l *theLab) walkedAs(*terraform.State) error {
	text, err := os.ReadFile("../internal/lab/e2e/testdata/walkthrough.yaml")
	if err != nil {
		return err
	}
	manifests := strings.NewReplacer("CLUSTER_NAME", l.ClusterName, "ROLE_NAME", "KarpenterNodeRole-lab").Replace(string(text))
	first, second, _ := strings.Cut(manifests, "\n---\n")
	return errors.Join(
		walked(l, nodeClasses, first, func(c awsv1.EC2NodeClass) awsv1.EC2NodeClassSpec { return c.Spec }),
		walked(l, nodePools, second, func(p v1.NodePool) v1.NodePoolSpec { return p.Spec }))
}

// walked compares the spec of a live object with that of its manifest, under the defaults
// of the API server.
func walked[Object, Spec any](l *theLab, gvr schema.GroupVersionResource, manifest string, spec func(Object) Spec) error {
	var want unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(manifest), &want.Object); err != nil {
		return err
	}
	ref := kube.RefOf(&want)
	live, err := l.get(ref.Group, ref.Kind, "", ref.Name)
	if err != nil {
		return err
	}
	if ready, why := kube.ConditionTrue("Ready")(live); !ready {
		return fmt.Errorf("%s is not ready: %s", ref, why)
	}
	// Another name, so that nothing of the live object is in it.
	want.SetName("manifest")
	raw, err := want.MarshalJSON()
	if err != nil {
		return err
	}
	declared, err := l.dryRun(gvr, "manifest", raw)
	if err != nil {
		return err
	}
	var specs [2]Spec
	for i, obj := range []*unstructured.Unstructured{declared, live} {
		var typed Object
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &typed); err != nil {
			return err
		}
		specs[i] = spec(typed)
	}
	if diff := cmp.Diff(specs[0], specs[1]); diff != "" {
		return fmt.Errorf("%s is not as in the manifest: %s", ref, diff)
	}
	return nil
}

// dryRun asks the API server what would become of a manifest.
func (l *theLab) dryRun(gvr schema.GroupVersionResource, name string, manifest []byte) (*unstructured.Unstructured, error) {
	client, err := dynamic.NewForConfig(l.AdminConfig)
	if err != nil {
		return nil, err
	}
	return client.Resource(gvr).Patch(context.Background(), name, types.ApplyPatchType, manifest,
		metav1.PatchOptions{FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
}

// madeFor fails unless the daemon has made so many instances, launch templates and instance
// profiles for the class that are still there.
func (l *theLab) madeFor(class string, instances, templates, profiles int) error {
	running := slices.DeleteFunc(l.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool {
		return i.Tags[awsspec.TagNodeClass] != class || i.State == ec2sim.StateTerminated || i.State == ec2sim.StateShuttingDown
	})
	names, err := l.aws.LaunchTemplates(context.Background(), map[string]string{awsspec.TagNodeClass: class})
	made, profileErr := l.aws.InstanceProfiles(context.Background(), awsspec.ProfilePath(l.Region, l.ClusterName))
	if err := errors.Join(err, profileErr); err != nil {
		return err
	}
	if len(running) != instances || len(names) != templates || len(made) != profiles {
		return fmt.Errorf("instances %+v, launch templates %v and instance profiles %+v; want %d, %d and %d", running, names, made, instances, templates, profiles)
	}
	return nil
}
