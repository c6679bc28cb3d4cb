//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// oneNode makes a pool whose nodes hold three pods of a CPU.
func oneNode(name string) pool {
	return pool{name: name, requirements: map[string][]string{instanceType: {"c6a.xlarge"}}}
}

func doNotDisrupt(template *corev1.PodTemplateSpec) {
	template.Annotations = map[string]string{v1.AnnotationDoNotDisrupt: "true"}
}

func (d *daemonLab) deleteClaim(t *testing.T, c v1.NodeClaim) {
	t.Helper()
	if err := d.NodeClaims.Delete(t.Context(), c.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// isHeld waits until the condition Drained says why the drain waits, and then
// sees that nothing goes for a while. The Node is being deleted from the beginning.
func (d *daemonLab) isHeld(t *testing.T, p pool, c v1.NodeClaim, because string) {
	t.Helper()
	eventually(t, func() error {
		now, err := d.NodeClaims.Get(t.Context(), c.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		drained := now.Conditions().Get(v1.ConditionDrained)
		if drained.Reason != v1.ReasonDraining || !strings.Contains(drained.Message, because) {
			return fmt.Errorf("condition Drained is %+v, want a message with %q", drained, because)
		}
		return nil
	})
	node, err := d.Core.CoreV1().Nodes().Get(t.Context(), c.Status.NodeName, metav1.GetOptions{})
	if err != nil || node.DeletionTimestamp == nil {
		t.Fatalf("the Node does not say that it goes: deleted at %v, error %v", node.DeletionTimestamp, err)
	}
	for range 15 { // longer than the daemon takes to look again
		time.Sleep(200 * time.Millisecond)
		pods, err := d.pods(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		on := 0
		for _, pod := range pods {
			if pod.Spec.NodeName == c.Status.NodeName && pod.Status.Phase == corev1.PodRunning {
				on++
			}
		}
		if on != 2 || d.state(c) != ec2sim.StateRunning {
			t.Fatalf("%d of 2 pods are left on the node and its instance is %s", on, d.state(c))
		}
	}
}

// state is that of the NodeClaim's instance.
func (d *daemonLab) state(c v1.NodeClaim) ec2sim.State {
	for _, i := range d.Cloud.EC2.Instances() {
		if strings.HasSuffix(c.Status.ProviderID, "/"+i.ID) {
			return i.State
		}
	}
	return ""
}

func blockingPDBHoldsADrain(t *testing.T, d *daemonLab) {
	p := oneNode("budget")
	d.createPool(t, p)
	d.deploy(t, p, 2)
	d.running(t, p, 2)
	two := intstr.FromInt32(2)
	budgets := d.Core.PolicyV1().PodDisruptionBudgets(testNamespace)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim, _ := d.theOne(t, p)
	d.deleteClaim(t, claim)
	d.isHeld(t, p, claim, "PodDisruptionBudget")
	if _, err := budgets.Patch(t.Context(), p.name, types.MergePatchType, []byte(`{"spec":{"minAvailable":1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	d.gone(t, claim)
	d.running(t, p, 2)
	d.scale(t, p, 0)
	d.empties(t, p)
}

func doNotDisruptHoldsADrain(t *testing.T, d *daemonLab) {
	p := oneNode("held")
	d.createPool(t, p)
	d.deploy(t, p, 2, doNotDisrupt)
	pods := d.running(t, p, 2)
	claim, _ := d.theOne(t, p)
	d.deleteClaim(t, claim)
	d.isHeld(t, p, claim, v1.AnnotationDoNotDisrupt)
	for _, pod := range pods {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1.AnnotationDoNotDisrupt)
		if _, err := d.Core.CoreV1().Pods(testNamespace).Patch(t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	d.gone(t, claim)
	d.running(t, p, 2)
	d.scale(t, p, 0)
	d.empties(t, p)
}

func terminationGracePeriodEndsADrain(t *testing.T, d *daemonLab) {
	const grace = 8 * time.Second
	p := oneNode("graceful")
	p.grace = grace.String()
	d.createPool(t, p)
	d.deploy(t, p, 2, doNotDisrupt)
	d.running(t, p, 2)
	claim, instance := d.theOne(t, p)
	began := time.Now()
	ended := d.endOf(t, instance.ID, func() {})
	d.deleteClaim(t, claim)
	d.gone(t, claim)
	if took := (<-ended).Sub(began); took < grace-2*time.Second { // the API's times and grace periods are whole seconds
		t.Errorf("the instance was ended %s after the deletion, want %s", took, grace)
	}
	d.running(t, p, 2)
	d.scale(t, p, 0)
	d.empties(t, p)
}

func deletingDrainsAndTerminates(t *testing.T, d *daemonLab) {
	p := oneNode("deleted")
	d.createPool(t, p)
	d.deploy(t, p, 2)
	d.running(t, p, 2)
	claim, _ := d.theOne(t, p)
	if err := d.Core.CoreV1().Nodes().Delete(t.Context(), claim.Status.NodeName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.gone(t, claim)
	d.running(t, p, 2)
	claim, _ = d.theOne(t, p)
	d.deleteClaim(t, claim)
	d.gone(t, claim)
	d.running(t, p, 2)
	d.scale(t, p, 0)
	d.empties(t, p)
}

// endOf calls look when the instance begins to end, and tells when that was.
func (d *daemonLab) endOf(t *testing.T, id string, look func()) <-chan time.Time {
	t.Helper()
	ended := make(chan time.Time, 1)
	d.Cloud.EC2.Watch(func(i ec2sim.Instance, _, now ec2sim.State) {
		if i.ID == id && now == ec2sim.StateShuttingDown {
			at := time.Now()
			look()
			ended <- at
		}
	})
	return ended
}
