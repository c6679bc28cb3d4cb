package machine

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUsable_DevicesNeedAReadyPluginOfTheirOwn(t *testing.T) {
	const nvidia, neuron = "nvcr.io/nvidia/k8s-device-plugin", "public.ecr.aws/neuron/neuron-device-plugin"
	pod := func(owner, image string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: owner}}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	going := pod("DaemonSet", nvidia, corev1.ConditionTrue)
	going.DeletionTimestamp = &metav1.Time{}
	gpus := map[corev1.ResourceName]int64{"nvidia.com/gpu": 4}
	chips := map[corev1.ResourceName]int64{"aws.amazon.com/neuron": 6, "aws.amazon.com/neuroncore": 12}
	for name, c := range map[string]struct {
		all, want map[corev1.ResourceName]int64
		pod       corev1.Pod
	}{
		"plugin":         {gpus, gpus, pod("DaemonSet", nvidia+":v0.17.1", corev1.ConditionTrue)},
		"digest":         {chips, chips, pod("DaemonSet", neuron+":2.1@sha256:ab", corev1.ConditionTrue)},
		"other devices":  {chips, nil, pod("DaemonSet", nvidia+":v0.17.1", corev1.ConditionTrue)},
		"no devices":     {nil, nil, pod("DaemonSet", nvidia, corev1.ConditionTrue)},
		"not ready yet":  {gpus, nil, pod("DaemonSet", nvidia, corev1.ConditionFalse)},
		"going":          {gpus, nil, going},
		"another image":  {gpus, nil, pod("DaemonSet", "k8s-device-plugin", corev1.ConditionTrue)},
		"no daemon's":    {gpus, nil, pod("ReplicaSet", nvidia, corev1.ConditionTrue)},
		"longer name":    {gpus, nil, pod("DaemonSet", nvidia+"-x:v1", corev1.ConditionTrue)},
		"untagged image": {gpus, gpus, pod("DaemonSet", nvidia, corev1.ConditionTrue)},
	} {
		if got := usable(c.all, []corev1.Pod{c.pod}); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDeviceStatus_DevicesOfAPluginThatIsGoneCannotBeAllocated(t *testing.T) {
	gpus := map[corev1.ResourceName]int64{"nvidia.com/gpu": 4}
	for want, c := range map[string]struct{ before, now map[corev1.ResourceName]int64 }{
		`{"status":{"allocatable":{"nvidia.com/gpu":"4"},"capacity":{"nvidia.com/gpu":"4"}}}`: {nil, gpus},
		`{"status":{"allocatable":{"nvidia.com/gpu":"0"},"capacity":{}}}`:                     {gpus, nil},
	} {
		if got, err := deviceStatus(c.before, c.now); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
