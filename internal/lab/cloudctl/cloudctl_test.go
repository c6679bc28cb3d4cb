package cloudctl

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

type cloud map[string]Instance

func (c cloud) Instance(id string) (Instance, bool) { i, ok := c[id]; return i, ok }

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{ProviderID: providerID, Taints: []corev1.Taint{
			{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}, {Key: "own", Effect: corev1.TaintEffectNoExecute},
		}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.1.7"}}},
	}
}

func TestController_InitializesNodesAndDeletesThoseWithoutInstance(t *testing.T) {
	clients := fake.NewClientset(
		node("alive", "aws:///us-west-2a/i-1"), node("gone", "aws:///us-west-2a/i-2"),
		node("bootstrap", ""), node("elsewhere", "kind://docker/x"),
	)
	c, err := Start(t.Context(), clients, cloud{"i-1": {
		Type: "m5.large", Zone: "us-west-2a", ZoneID: "usw2-az1", Region: "us-west-2", PrivateIP: "10.0.9.9", PrivateDNSName: "ip-10-0-1-7.us-west-2.compute.internal",
	}}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get := func(name string) (*corev1.Node, error) {
		return clients.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	}
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := get("gone")
		alive, aliveErr := get("alive")
		if aliveErr != nil {
			t.Fatal(aliveErr)
		}
		if apierrors.IsNotFound(err) && len(alive.Spec.Taints) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("gone: %v, alive taints %v", err, alive.Spec.Taints)
		}
		time.Sleep(5 * time.Millisecond)
	}
	alive, err := get("alive")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		corev1.LabelTopologyZone: "us-west-2a", corev1.LabelTopologyRegion: "us-west-2",
		corev1.LabelInstanceTypeStable: "m5.large", "topology.k8s.aws/zone-id": "usw2-az1",
	} {
		if got := alive.Labels[key]; got != want {
			t.Errorf("label %s = %q, want %q", key, got, want)
		}
	}
	if alive.Spec.Taints[0].Key != "own" {
		t.Errorf("taints = %v, the others must stay", alive.Spec.Taints)
	}
	if got := alive.Status.Addresses; len(got) != 3 || got[0].Address != "10.0.1.7" {
		t.Errorf("addresses = %v, want the kubelet's own and the missing two", got)
	}
	for _, name := range []string{"bootstrap", "elsewhere"} {
		if n, err := get(name); err != nil || len(n.Spec.Taints) != 2 {
			t.Errorf("%s was touched: %v %v", name, n, err)
		}
	}
}
