package claim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// AttachedTo has the volumes by pod, and one without a pod.
func (d *drained) AttachedTo(_ string, staying []*corev1.Pod) (volumes []string) {
	for _, volume := range d.volumes {
		if !slices.ContainsFunc(staying, func(p *corev1.Pod) bool { return "of-"+p.Name == volume }) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

func (d *drained) Detaching(_ *v1.NodeClaim, node, waitingFor string) {
	d.events = append(d.events, node+" "+waitingFor)
}

func (d *drained) detach(t *testing.T, deadline time.Time) (time.Duration, bool) {
	t.Helper()
	again, done, err := d.controller.detach(context.Background(), d.claim, d.node, deadline)
	if err != nil {
		t.Fatal(err)
	}
	return again, done
}

func (d *drained) detached() v1.Condition {
	return d.claim.DeepCopy().Conditions().Get(v1.ConditionVolumesDetached)
}

func TestTerminate_WaitsForTheVolumesOfDrainedPodsAndNamesThem(t *testing.T) {
	d := newDrained(t, "agent")
	d.pods[0].Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	d.volumes = []string{"a", "b", "c", "d", "of-agent"}
	for range 2 {
		again, done := d.detach(t, time.Time{})
		x := d.detached()
		if done || again != drainPoll || x.Status != metav1.ConditionUnknown || x.Reason != v1.ReasonAwaitingVolumeDetachment ||
			x.Message != "still attached to node n: 4 volumes (a, b, c, ...)" {
			t.Errorf("done %v, again after %s, %+v", done, again, x)
		}
	}
	if len(d.events) != 2 || !strings.Contains(d.events[0], "n still attached") {
		t.Errorf("events %q", d.events)
	}
	d.volumes = []string{"of-agent"}
	d.detach(t, time.Time{}) // writes the condition
	if _, done := d.detach(t, time.Time{}); !done || !d.detached().IsTrue() {
		t.Errorf("done %v, %+v", done, d.detached())
	}
}

func TestTerminate_WaitsForVolumesOnlyWithinTheTerminationGracePeriod(t *testing.T) {
	d := newDrained(t)
	d.volumes = []string{"a"}
	if _, done := d.detach(t, d.now.Add(time.Second)); done {
		t.Error("done before the deadline")
	}
	d.detach(t, d.now) // writes the condition
	if _, done := d.detach(t, d.now); !done || d.detached().Reason != v1.ReasonTerminationGracePeriodPassed || !strings.Contains(d.detached().Message, "1 volume (a)") {
		t.Errorf("done %v, %+v", done, d.detached())
	}
}

// The whole way: the instance lives while a volume is attached, and is terminated then.
func TestTerminate_TheInstanceOutlivesItsVolumes(t *testing.T) {
	d := newDrained(t)
	cloud := &endingCloud{lateCloud: lateCloud{state: "running"}}
	d.controller.Cloud = cloud
	now := metav1.NewTime(d.now)
	d.claim.DeletionTimestamp, d.claim.Finalizers = &now, []string{v1.FinalizerTermination}
	d.claim.Status.ProviderID = "aws:///a/i-1"
	d.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	d.up, d.volumes = true, []string{"a"}
	for range 4 {
		if _, err := d.controller.terminate(context.Background(), d.claim); err != nil || cloud.ended > 0 {
			t.Fatalf("%d instances ended, error %v", cloud.ended, err)
		}
	}
	d.volumes = nil
	for range 2 {
		if _, err := d.controller.terminate(context.Background(), d.claim); err != nil {
			t.Fatal(err)
		}
	}
	if cloud.ended != 1 {
		t.Errorf("%d instances ended", cloud.ended)
	}
	d.volumes = []string{"late"}
	if again, err := d.controller.terminate(context.Background(), d.claim); err != nil || again != poll || !d.detached().IsTrue() {
		t.Errorf("again after %s, error %v, %+v; an instance that ends waits for nothing", again, err, d.detached())
	}
}

// endingCloud counts the instances that were ended.
type endingCloud struct {
	lateCloud
	ended int
}

func (c *endingCloud) Terminate(context.Context, ...string) error { c.ended++; return nil }
