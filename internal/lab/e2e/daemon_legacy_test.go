//go:build lab

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

const provisionerName = "karpenter.sh/provisioner-name"

// TestDaemonLegacy serves manifests of the APIs before v1 as they are.
func TestDaemonLegacy(t *testing.T) {
	d := startDaemonLab(t, lab.Options{Progress: os.Stderr})
	d.options.LegacyAPI = true
	d.apply(t,
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": install.DefaultNamespace}}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "karpenter-global-settings", "namespace": install.DefaultNamespace},
			"data": map[string]any{"aws.defaultInstanceProfile": "node", "aws.clusterName": d.ClusterName},
		}})
	d.installDaemon(t)
	d.applyLegacy(t, "testdata/legacy.yaml")
	d.together(t, "Together", map[string]func(*testing.T, *daemonLab){
		"ProvisionerWithTemplate_GoesUpAndDown": provisionerWithTemplate,
		"InlineProvider_GoesUpAndDown":          inlineProvider,
		"CapacitySpread_GivesTwoToThree":        capacitySpread,
		"BrokenProvisioner_SaysWhatIsWrong":     brokenProvisioner,
	})
	d.part(t, "ExpiryLowered_RollsNodesThatExist", expiryLowered)
	d.part(t, "Migrated_NodePoolTakesTheNodesOver", nodePoolTakesOver)
	d.part(t, "Deleted_ProvisionerTakesItsNodesAlong", provisionerDeleted)
}

// applyLegacy creates the objects of the file.
func (d *daemonLab) applyLegacy(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), "CLUSTER_NAME", d.ClusterName))
	for documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		o := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(document, &o.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.apply(t, o)
	}
}

// legacyPod has the pods ask for the Provisioner by name.
func legacyPod(name string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{provisionerName: name} }
}

// condition waits until a condition of the Provisioner is so, and returns its message.
func (d *daemonLab) condition(t *testing.T, provisioner, kind, status string) (message string) {
	t.Helper()
	eventually(t, func() error {
		p, err := d.Provisioners.Get(t.Context(), provisioner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, err := unstructured.NestedSlice(p.Object, "status", "conditions")
		for _, x := range list {
			if c := x.(map[string]any); c["type"] == kind && c["status"] == status {
				message, _ = c["message"].(string)
				return err
			}
		}
		return fmt.Errorf("Provisioner %s: %s is not %s: %v, %w", provisioner, kind, status, list, err)
	})
	return message
}

func provisionerWithTemplate(t *testing.T, d *daemonLab) {
	p := pool{name: "default"}
	d.condition(t, p.name, "Ready", "True")
	if text := d.condition(t, p.name, "Migrate", "True"); !strings.Contains(text, "kind: NodePool") || !strings.Contains(text, "kind: EC2NodeClass") {
		t.Errorf("condition Migrate: %s", text)
	}
	if text := d.condition(t, p.name, "Adapted", "True"); !strings.Contains(text, "nodes run al2023@latest") {
		t.Errorf("condition Adapted: %s", text)
	}
	d.deploy(t, p, 2, legacyPod(p.name))
	d.running(t, p, 2)
	claim, instance := d.theOne(t, p)
	if instance.Tags[provisionerName] != p.name {
		t.Errorf("tags %v", instance.Tags)
	}
	if !instance.Spot || instance.Type != "m5.xlarge" || !strings.Contains(instance.ImageName, "al2023") {
		t.Errorf("instance %+v", instance)
	}
	if len(claim.OwnerReferences) > 0 || claim.Labels[provisionerName] != p.name {
		t.Errorf("NodeClaim has the owners %v and the labels %v", claim.OwnerReferences, claim.Labels)
	}
	node, err := d.Core.CoreV1().Nodes().Get(t.Context(), claim.Status.NodeName, metav1.GetOptions{})
	if err != nil || node.Labels[provisionerName] != p.name || node.Labels[v1.LabelNodePool] != p.name {
		t.Errorf("%v: the node has the labels %v", err, node.Labels)
	}
	template, err := d.AWSNodeTemplates.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found, _, _ := unstructured.NestedSlice(template.Object, "status", "subnets"); len(found) == 0 {
		t.Errorf("AWSNodeTemplate has the status %v", template.Object["status"])
	}
	d.scale(t, p, 0)
	d.gone(t, claim)
	d.empties(t, p)
}

func inlineProvider(t *testing.T, d *daemonLab) {
	p := pool{name: "inline"}
	d.condition(t, p.name, "Ready", "True")
	d.deploy(t, p, 2, func(x *corev1.PodTemplateSpec) { x.Spec.NodeSelector = map[string]string{"intent": "apps"} })
	d.running(t, p, 2)
	claim, instance := d.theOne(t, p)
	if instance.Spot || instance.Tags["accounting-ec2-tag"] != "inline" {
		t.Errorf("instance %+v", instance)
	}
	d.scale(t, p, 0)
	d.gone(t, claim)
	d.empties(t, p)
}

// capacitySpread spreads pods over a key that only Provisioners have.
func capacitySpread(t *testing.T, d *daemonLab) {
	onDemand, spot, p := pool{name: "ratio-on-demand"}, pool{name: "ratio-spot"}, pool{name: "ratio"}
	d.condition(t, onDemand.name, "Ready", "True")
	d.condition(t, spot.name, "Ready", "True")
	d.deploy(t, p, 10, func(x *corev1.PodTemplateSpec) {
		x.Spec.NodeSelector = map[string]string{"intent": "ratio"}
		x.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "karpenter.sh/capacity-spread", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}},
		}}
	})
	count, values := map[string]int{}, map[string]int{}
	for _, x := range d.running(t, p, 10) {
		node, err := d.Core.CoreV1().Nodes().Get(t.Context(), x.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		count[node.Labels[v1.LabelCapacityType]]++
		values[node.Labels["karpenter.sh/capacity-spread"]]++
	}
	if count[v1.CapacityTypeOnDemand] != 4 || count[v1.CapacityTypeSpot] != 6 || len(values) != 5 {
		t.Errorf("pods by capacity type %v, by value %v; want 2:3", count, values)
	}
	for _, of := range []pool{onDemand, spot} {
		claims, err := d.claims(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		for i := range claims {
			for _, r := range claims[i].Spec.Requirements {
				if r.Key == "karpenter.sh/capacity-spread" {
					t.Errorf("NodeClaim %s requires %v", claims[i].Name, r)
				}
			}
			if claims[i].Labels["karpenter.sh/capacity-spread"] == "" {
				t.Errorf("NodeClaim %s has the labels %v", claims[i].Name, claims[i].Labels)
			}
		}
	}
}

func brokenProvisioner(t *testing.T, d *daemonLab) {
	text := d.condition(t, "broken", "Served", "False")
	if !strings.Contains(text, "spec.ttlSecondsAfterEmty: no such field; write spec.ttlSecondsAfterEmpty") {
		t.Errorf("condition Served: %s", text)
	}
	eventually(t, func() error {
		list, err := d.Core.CoreV1().Events(testNamespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NotServed,involvedObject.name=broken"})
		if err == nil && (len(list.Items) != 1 || !strings.Contains(list.Items[0].Message, "ttlSecondsAfterEmty")) {
			err = fmt.Errorf("%d Events of NotServed", len(list.Items))
		}
		return err
	})
	if _, err := d.NodePools.Get(t.Context(), "broken", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a NodePool was made: %v", err)
	}
}

// expiryLowered lowers ttlSecondsUntilExpired, by which users rolled nodes.
func expiryLowered(t *testing.T, d *daemonLab) {
	p := pool{name: "inline"}
	d.scale(t, p, 1)
	d.running(t, p, 1)
	claim, _ := d.theOne(t, p)
	const ttl = 15 * time.Second
	eventually(t, func() error {
		if age := time.Since(claim.CreationTimestamp.Time); age < ttl {
			return fmt.Errorf("the node is %s old", age)
		}
		return nil
	})
	lower := func(text string) {
		t.Helper()
		if _, err := d.Provisioners.Patch(t.Context(), p.name, types.MergePatchType, []byte(`{"spec":{"ttlSecondsUntilExpired":`+text+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lower(strconv.Itoa(int(ttl.Seconds())))
	eventually(t, func() error {
		_, err := d.NodeClaims.Get(t.Context(), claim.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		events, listErr := d.Core.CoreV1().Events(testNamespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + claim.Name})
		if err = errors.Join(err, listErr); err != nil {
			return err
		}
		var told []string
		for _, e := range events.Items {
			told = append(told, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("the node has not gone: %q", told)
	})
	lower("null")
	d.running(t, p, 1)
}

// nodePoolTakesOver applies what the condition Migrate says, and deletes the Provisioner.
func nodePoolTakesOver(t *testing.T, d *daemonLab) {
	p := pool{name: "inline"}
	claim, instance := d.theOne(t, p)
	for _, document := range strings.Split(d.condition(t, p.name, "Migrate", "True"), "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		d.apply(t, o)
	}
	eventually(t, func() error { // the daemon may have looked between the two objects
		if text := d.condition(t, p.name, "Served", "False"); !strings.Contains(text, `NodePool "inline" of the cluster has the name`) {
			return fmt.Errorf("condition Served: %s", text)
		}
		return nil
	})
	d.deleteProvisioner(t, p)
	d.running(t, p, 1)
	if after, same := d.theOne(t, p); after.UID != claim.UID || after.DeletionTimestamp != nil || same.ID != instance.ID {
		t.Errorf("NodeClaim %s with instance %s, want that from before: %s with %s", after.Name, same.ID, claim.Name, instance.ID)
	}
}

// deleteProvisioner deletes it as kubectl does, and waits until it is gone.
func (d *daemonLab) deleteProvisioner(t *testing.T, p pool) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	if err := d.Provisioners.Delete(t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if _, err := d.Provisioners.Get(t.Context(), p.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Provisioner is still there"), err)
		}
		return nil
	})
}

// provisionerDeleted deletes a Provisioner with a node.
func provisionerDeleted(t *testing.T, d *daemonLab) {
	p := pool{name: "default"}
	d.scale(t, p, 1)
	d.running(t, p, 1)
	mark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1.AnnotationTerminate)
	if _, err := d.Provisioners.Patch(t.Context(), p.name, types.MergePatchType, mark, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	d.deleteProvisioner(t, p)
	d.empties(t, p)
	left, err := d.aws.LaunchTemplates(t.Context(), map[string]string{"karpenter.k8s.aws/ec2nodeclass": p.name})
	if err != nil || len(left) > 0 {
		t.Errorf("launch templates are left: %v, %v", left, err)
	}
}
