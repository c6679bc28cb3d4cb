//go:build lab

package e2e

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
)

// TestIdentity_NobodyPassesForAnother lets machines join only when everything is right, and
// asks pods who they are, in one laboratory: every case has a role of its own.
func TestIdentity_NobodyPassesForAnother(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := startWorld(t, lab.Options{NodeGrace: 5 * time.Second, DaemonBinary: self})
	for _, c := range []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"Machine_RightOneJoinsAndLeavesWithItsInstance", rightMachineJoins},
		{"Machine_StoppedKubeletMakesItsNodeNotReadyUntilItResumes", stoppedKubelet},
		{"Machine_HungKubeletStartsNoPodUntilItResumes", hungKubelet},
		{"Machine_WrongCertificateAuthorityStaysOut", wrongCertificateAuthority},
		{"Machine_WrongClusterNameStaysOut", wrongClusterName},
		{"Machine_WrongRoleStaysOut", wrongRole},
		{"Machine_MissingAccessEntryStaysOutUntilThereIsOne", missingAccessEntry},
		{"Pod_AnnotatedIsItsRoleAtAWSAndItsServiceAccountAtTheCluster", annotatedPod},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, w) })
	}
	t.Run("NobodyButTheLauncherUsedTheAdministratorsToken", func(t *testing.T) {
		agents, err := w.AdminUserAgents()
		if err != nil {
			t.Fatal(err)
		}
		own := strings.SplitN(rest.DefaultKubernetesUserAgent(), " ", 2)[0]
		if agents[rest.DefaultKubernetesUserAgent()] == 0 {
			t.Errorf("agents %v: the launcher's own requests are missing, so the log proves nothing", agents)
		}
		for agent := range agents {
			if !strings.HasPrefix(agent, own) && !strings.HasPrefix(agent, "Go-http-client") { // the readiness check
				t.Errorf("%s used the administrator's token", agent)
			}
		}
	})
}

func rightMachineJoins(t *testing.T, w world) {
	w.role(t, "right", true)
	states, launched := w.states(), time.Now()
	id := w.launch(t, "right", w.goodUserData())
	node := w.joins(t, id)
	for key, want := range map[string]string{
		"karpenter.sh/nodepool": "default", "example.com/team": "a", corev1.LabelTopologyZone: "us-west-2a",
		corev1.LabelTopologyRegion: "us-west-2", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelArchStable: "amd64",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s = %q, want %q", key, got, want)
		}
	}
	if want := "aws:///us-west-2a/" + id; node.Spec.ProviderID != want {
		t.Errorf("provider id %q, want %q", node.Spec.ProviderID, want)
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "example.com/new" {
		t.Errorf("taints %v, want the user data's only", node.Spec.Taints)
	}
	memory := w.Cloud.EC2.RealMemoryBytes("m5.large")
	if got := node.Status.Capacity.Memory().Value(); got != memory/1024*1024 || got >= 8<<30 {
		t.Errorf("memory %d, want the real %d and less than advertised", got, memory)
	}
	if got := node.Status.Allocatable.Pods().Value(); got != 17 {
		t.Errorf("pods %d, want 17 from the user data", got)
	}
	told := time.Now()
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := w.Admin.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the node is still there: %w", err)
	})
	at := states(id)
	if ran, gone := at[ec2sim.StateRunning].Sub(launched), at[ec2sim.StateTerminated].Sub(told); ran < startTime || gone < stopTime {
		t.Errorf("the instance ran %s after its launch and was gone %s after its end, want at least %s and %s", ran, gone, startTime, stopTime)
	}
}

// states notes when each instance comes into a state from now on.
func (w world) states() func(id string) map[ec2sim.State]time.Time {
	var mu sync.Mutex
	at := map[string]map[ec2sim.State]time.Time{}
	w.Cloud.EC2.Watch(func(i ec2sim.Instance, _, now ec2sim.State) {
		mu.Lock()
		defer mu.Unlock()
		if at[i.ID] == nil {
			at[i.ID] = map[ec2sim.State]time.Time{}
		}
		at[i.ID][now] = time.Now()
	})
	return func(id string) map[ec2sim.State]time.Time {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(at[id])
	}
}

func stoppedKubelet(t *testing.T, w world) {
	w.role(t, "stopped", true)
	node := w.joins(t, w.launch(t, "stopped", w.goodUserData()))
	isReady(t, w.Admin, node.Name, corev1.ConditionTrue)
	if err := w.StopKubelet(t.Context(), "joins-later"); !apierrors.IsNotFound(err) {
		t.Errorf("error %v of a node that is not there", err)
	}
	if broken, err := w.Admin.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "lab-broken-kubelets", metav1.GetOptions{}); err != nil || broken.Data["joins-later"] != "" {
		t.Errorf("a node that joins later finds its kubelet stopped: %v, %v", broken.Data, err)
	}
	w.podOn(t, "stopped", node.Name)
	ready := func(want corev1.ConditionStatus) {
		t.Helper()
		eventually(t, func() error {
			pod, err := w.Admin.CoreV1().Pods("default").Get(t.Context(), "stopped", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == want {
					return nil
				}
			}
			return fmt.Errorf("the pod has %v, want Ready %s", pod.Status.Conditions, want)
		})
	}
	ready(corev1.ConditionTrue)
	if err := w.StopKubelet(t.Context(), node.Name); err != nil {
		t.Fatal(err)
	}
	isReady(t, w.Admin, node.Name, corev1.ConditionUnknown)
	ready(corev1.ConditionFalse)
	if err := w.ResumeKubelet(t.Context(), node.Name); err != nil {
		t.Fatal(err)
	}
	isReady(t, w.Admin, node.Name, corev1.ConditionTrue)
	ready(corev1.ConditionTrue)
}

// podOn puts a pod straight onto a node.
func (w world) podOn(t *testing.T, name, node string) {
	t.Helper()
	eventually(t, func() error { // the namespace's service account comes a moment later
		_, err := w.Admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{NodeName: node, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Containers: []corev1.Container{{Name: "c", Image: "any"}}},
		}, metav1.CreateOptions{})
		return err
	})
}

func hungKubelet(t *testing.T, w world) {
	w.role(t, "hung", true)
	node := w.joins(t, w.launch(t, "hung", w.goodUserData()))
	isReady(t, w.Admin, node.Name, corev1.ConditionTrue)
	if err := w.HangKubelet(t.Context(), node.Name); err != nil {
		t.Fatal(err)
	}
	w.podOn(t, "hung", node.Name)
	pods := w.Admin.CoreV1().Pods("default")
	time.Sleep(8 * time.Second) // longer than a silent kubelet's node stays Ready
	pod, err := pods.Get(t.Context(), "hung", metav1.GetOptions{})
	if err != nil || pod.Status.Phase != corev1.PodPending {
		t.Errorf("the pod on a node that hangs is %s: %v", pod.Status.Phase, err)
	}
	isReady(t, w.Admin, node.Name, corev1.ConditionTrue)
	if err := w.ResumeKubelet(t.Context(), node.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if pod, err = pods.Get(t.Context(), "hung", metav1.GetOptions{}); err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s", pod.Status.Phase)
		}
		return err
	})
}

func wrongCertificateAuthority(t *testing.T, w world) {
	w.role(t, "wrong-ca", true)
	other, err := controlplane.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	u := w.goodUserData()
	u.ca = other.PEM()
	w.staysOut(t, w.launch(t, "wrong-ca", u), "certificate")
}

func wrongClusterName(t *testing.T, w world) {
	w.role(t, "wrong-name", true)
	u := w.goodUserData()
	u.cluster = "other"
	w.staysOut(t, w.launch(t, "wrong-name", u), "Unauthorized")
}

func wrongRole(t *testing.T, w world) {
	w.role(t, "entered", true)
	w.role(t, "other", false)
	w.staysOut(t, w.launch(t, "other", w.goodUserData()), "Unauthorized")
	w.staysOut(t, w.launch(t, "", w.goodUserData()), "no instance profile")
}

func missingAccessEntry(t *testing.T, w world) {
	w.role(t, "no-entry", false)
	id := w.launch(t, "no-entry", w.goodUserData())
	w.staysOut(t, id, "Unauthorized")
	w.enter(t, "arn:aws:iam::"+lab.Account+":role/no-entry")
	w.joins(t, id)
}
