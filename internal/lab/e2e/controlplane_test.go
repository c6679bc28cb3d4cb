//go:build lab

package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
)

// unattended is a bootstrap node without a kubelet.
const unattended = "bootstrap-2"

// handMade is a taint of nodes that the tests make: other pods keep away from them.
const handMade = "example.com/hand-made"

// TestControlPlane_RunsPodsAsAClusterDoes has all that needs a control plane alone, and a
// stand-in kubelet, in one. Its parts have nodes and pods of their own.
func TestControlPlane_RunsPodsAsAClusterDoes(t *testing.T) {
	b := startBare(t, bootstrapNode, unattended)
	startKubelet(t, b)
	for name, part := range map[string]func(*testing.T, bare){
		"Kwok_KeepsNodesAndPodsButNotThoseOfTheBootstrapNodes":   kwokKeepsNodesAndPods,
		"Kwok_PodsTerminateForTheirGracePeriodOrAsLongAsTheySay": kwoksPodsTerminate,
		"Kubelet_RunsAPodFromItsSpecAndStopsItWithGrace":         kubeletRunsAPod,
		"Kubelet_UnknownImageIsNotPassedOffAsRunning":            unknownImageDoesNotRun,
		"Forward_ReachesWhatListensOnThePodsLocalhostAlone":      forwardReachesLocalhost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(t, b)
		})
	}
}

func kwokKeepsNodesAndPods(t *testing.T, b bare) {
	for _, name := range []string{"hand-made", unattended} {
		createNode(t, b, name)
		createPod(t, b, podOn(name, "on-"+name))
	}
	phase := func(name string) *corev1.Pod {
		pod, err := b.clients.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	eventually(t, func() error {
		kwoks, ours := phase("on-hand-made"), phase("on-"+unattended)
		if kwoks.Status.Phase != corev1.PodRunning || ours.Spec.NodeName == "" {
			return fmt.Errorf("pods are %s on %q and %s on %q", kwoks.Status.Phase, kwoks.Spec.NodeName, ours.Status.Phase, ours.Spec.NodeName)
		}
		return nil
	})
	// A second pod that KWOK starts after this one was bound proves that KWOK had its chance.
	createPod(t, b, podOn("hand-made", "later"))
	eventually(t, func() error {
		if got := phase("later").Status.Phase; got != corev1.PodRunning {
			return fmt.Errorf("later pod is %s", got)
		}
		return nil
	})
	if got := phase("on-" + unattended).Status.Phase; got != corev1.PodPending {
		t.Errorf("KWOK took a pod of the bootstrap node: it is %s", got)
	}
}

// createNode makes a node that KWOK keeps alive.
func createNode(t *testing.T, b bare, name string) {
	t.Helper()
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name},
			Annotations: map[string]string{controlplane.NodeAnnotation: controlplane.NodeAnnotationValue},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: handMade, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.1.7"}, {Type: corev1.NodeHostName, Address: name}},
		},
	}
	if _, err := b.clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podOn is a pod for one node that the tests made.
func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Tolerations:  []corev1.Toleration{{Key: handMade, Operator: corev1.TolerationOpExists}},
			Containers:   []corev1.Container{{Name: "c", Image: "any"}},
		},
	}
}

func kwoksPodsTerminate(t *testing.T, b bare) {
	createNode(t, b, "node")
	grace := int64(3)
	hour := int64(3600)
	pods := b.clients.CoreV1().Pods("default")
	for name, spec := range map[string]struct {
		annotations map[string]string
		grace       *int64
	}{
		"whole": {nil, &grace}, "quick": {map[string]string{controlplane.TerminationAnnotation: "500ms"}, &hour},
		"stuck": {map[string]string{controlplane.TerminationAnnotation: "1h"}, &grace},
	} {
		pod := podOn("node", name)
		pod.Annotations, pod.Spec.TerminationGracePeriodSeconds = spec.annotations, spec.grace
		createPod(t, b, pod)
		eventually(t, func() error {
			pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s: %w", name, pod.Status.Phase, err)
			}
			return nil
		})
	}
	ends := map[string]time.Time{}
	for _, name := range []string{"stuck", "whole", "quick"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("pod %s did not stay to terminate: %v", name, err)
		}
		ends[name] = pod.DeletionTimestamp.Time
	}
	for _, name := range []string{"whole", "quick"} {
		eventually(t, func() error {
			if _, err := pods.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("pod %s is still there: %w", name, err)
			}
			return nil
		})
		if early := time.Until(ends[name]); (early > 0) != (name == "quick") {
			t.Errorf("pod %s was gone %s before the end of its grace period", name, early)
		}
	}
	if _, err := pods.Get(t.Context(), "stuck", metav1.GetOptions{}); err != nil {
		t.Errorf("the pod that takes longer than its grace period is gone: %v", err)
	}
}
