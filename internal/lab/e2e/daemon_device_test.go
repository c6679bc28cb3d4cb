//go:build lab

package e2e

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
)

const (
	nvidiaGPU = corev1.ResourceName("nvidia.com/gpu")
	neuron    = corev1.ResourceName("aws.amazon.com/neuron")
)

// devicePlugin is a DaemonSet as the projects of device plugins ship them: critical to
// its node, without requests, and tolerating the taint of its device, but neither the
// daemon's taint nor karpenter.sh/unregistered.
func devicePlugin(name, image string, tolerated ...corev1.Toleration) *appsv1.DaemonSet {
	labels := map[string]string{"name": name}
	no := false
	directory := corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/device-plugins"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
			Template: corev1.PodTemplateSpec{
				// A plugin ends as soon as it is told to.
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{controlplane.TerminationAnnotation: "300ms"}},
				Spec: corev1.PodSpec{
					Tolerations: tolerated, PriorityClassName: "system-node-critical",
					Containers: []corev1.Container{{
						Name: name, Image: image,
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						VolumeMounts: []corev1.VolumeMount{{Name: "device-plugin", MountPath: directory.Path}},
					}},
					Volumes: []corev1.Volume{{Name: "device-plugin", VolumeSource: corev1.VolumeSource{HostPath: &directory}}},
				},
			},
		},
	}
}

// nvidiaPlugin runs on every node whose taints it tolerates: its manifest selects none.
func nvidiaPlugin() *appsv1.DaemonSet {
	return devicePlugin("nvidia-device-plugin-daemonset", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", tolerates(string(nvidiaGPU)))
}

// neuronPlugin runs on the instance types that its manifest names.
func neuronPlugin() *appsv1.DaemonSet {
	set := devicePlugin("neuron-device-plugin-daemonset", "public.ecr.aws/neuron/neuron-device-plugin:2.22.4.0",
		corev1.Toleration{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}, tolerates(string(neuron)))
	set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: instanceType, Operator: corev1.NodeSelectorOpIn,
				Values: []string{"inf1.xlarge", "inf1.2xlarge", "inf1.6xlarge", "inf1.24xlarge", "inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn1.2xlarge", "trn1.32xlarge"},
			}},
		}}},
	}}
	return set
}

func tolerates(key string) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
}

func (d *daemonLab) install(t *testing.T, plugin *appsv1.DaemonSet) {
	t.Helper()
	if _, err := d.Core.AppsV1().DaemonSets(plugin.Namespace).Create(t.Context(), plugin, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deployOnDevice runs a pod that asks for one device and tolerates its taint.
func (d *daemonLab) deployOnDevice(t *testing.T, p pool, device corev1.ResourceName) {
	t.Helper()
	d.deploy(t, p, 1, func(template *corev1.PodTemplateSpec) {
		template.Spec.Tolerations = append(template.Spec.Tolerations, tolerates(string(device)))
		r := &template.Spec.Containers[0].Resources
		r.Requests[device] = resource.MustParse("1")
		r.Limits = corev1.ResourceList{device: resource.MustParse("1")}
	})
}

// gpuNodeWaitsForItsPlugin launches a node of an older GPU family before the plugin is
// installed: the node opens without devices, and waits for them.
func gpuNodeWaitsForItsPlugin(t *testing.T, d *daemonLab) {
	p := pool{name: "gpu", taint: string(nvidiaGPU), requirements: map[string][]string{"karpenter.k8s.aws/instance-family": {"p3"}}}
	d.createPool(t, p)
	d.deployOnDevice(t, p, nvidiaGPU)
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil || len(claims) != 1 || claims[0].Status.NodeName == "" {
			return fmt.Errorf("%d NodeClaims: %w", len(claims), err)
		}
		node, err := d.Core.CoreV1().Nodes().Get(t.Context(), claims[0].Status.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, reported := node.Status.Capacity[nvidiaGPU]
		initialized := claims[0].Conditions().Get(v1.ConditionInitialized)
		if reported || isAwaiting(*node) || initialized.Reason != v1.ReasonResourceNotRegistered {
			return fmt.Errorf("reports GPUs: %t, taints %v, Initialized %+v; want an open node without GPUs", reported, node.Spec.Taints, initialized)
		}
		return nil
	})
	d.install(t, nvidiaPlugin())
	d.runsOnDevice(t, p, map[corev1.ResourceName]int64{nvidiaGPU: 1}, map[string]string{
		instanceType: "p3.2xlarge", "karpenter.k8s.aws/instance-gpu-name": "v100", "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia",
		"karpenter.k8s.aws/instance-gpu-count": "1", "karpenter.k8s.aws/instance-gpu-memory": "16384",
	}, "nvidia")
}

// neuronPluginStartsOnANewNode has the plugin before any node.
func neuronPluginStartsOnANewNode(t *testing.T, d *daemonLab) {
	p := pool{name: "neuron", taint: string(neuron), requirements: map[string][]string{"karpenter.k8s.aws/instance-family": {"inf2"}}}
	d.install(t, neuronPlugin())
	d.createPool(t, p)
	d.deployOnDevice(t, p, neuron)
	d.runsOnDevice(t, p, map[corev1.ResourceName]int64{neuron: 1, "aws.amazon.com/neuroncore": 2}, map[string]string{
		instanceType: "inf2.xlarge", "karpenter.k8s.aws/instance-accelerator-manufacturer": "aws",
	}, "neuron")
}

// runsOnDevice waits for the pool's pod, checks its node, and waits until all goes with
// the pod. The image is the variant of the node's.
func (d *daemonLab) runsOnDevice(t *testing.T, p pool, devices map[corev1.ResourceName]int64, labels map[string]string, image string) {
	t.Helper()
	pod := d.running(t, p, 1)[0]
	claim := d.oneInstanceEach(t, p)[0]
	if claim.Status.NodeName != pod.Spec.NodeName {
		t.Errorf("the pod runs on %s, the NodeClaim's node is %s", pod.Spec.NodeName, claim.Status.NodeName)
	}
	node, err := d.Core.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range devices {
		capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
		if capacity.Value() != want || allocatable.Value() != want {
			t.Errorf("%s: capacity %s, allocatable %s, want %d", name, capacity.String(), allocatable.String(), want)
		}
	}
	for key, want := range labels {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if isAwaiting(*node) || !slices.ContainsFunc(node.Spec.Taints, func(x corev1.Taint) bool { return x.Key == p.taint }) {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	if want := fmt.Sprintf("amazon-eks-node-al2023-x86_64-%s-%s-", image, lab.KubernetesVersion); !slices.ContainsFunc(d.instances(p), func(i ec2sim.Instance) bool {
		return len(i.ImageName) > len(want) && i.ImageName[:len(want)] == want
	}) {
		t.Errorf("instances %+v, want the image %s*", d.instances(p), want)
	}
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil || len(claims) != 1 || !claims[0].Conditions().Get(v1.ConditionInitialized).IsTrue() {
			return fmt.Errorf("not initialized: %+v, %w", claims, err)
		}
		return nil
	})
	d.scale(t, p, 0)
	d.empties(t, p)
}

func isAwaiting(node corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(x corev1.Taint) bool { return x.Key == v1.TaintAwaitingPods })
}
