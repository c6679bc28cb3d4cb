package machine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// uninitializedTaint is what a kubelet with an external cloud provider
// registers with; the cloud controller takes it away.
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// nodeOf is the Node that the machine's kubelet registers.
func (h *Host) nodeOf(i Instance, hardware Hardware, k kubelet) (*corev1.Node, error) {
	capacity, allocatable, err := resources(hardware, i.DataVolumeBytes, k.config, i.isBottlerocket())
	if err != nil {
		return nil, err
	}
	name := i.PrivateDNSName
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: hardware.Arch,
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": hardware.Arch,
			},
			Annotations: h.options.Annotations,
		},
		Spec: corev1.NodeSpec{
			ProviderID: fmt.Sprintf("aws:///%s/%s", i.Zone, i.ID), // nodeadm sets it
			Taints:     []corev1.Taint{{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: i.PrivateIP},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: hardware.Arch,
				OSImage: "Amazon Linux 2023 (simulated)", ContainerRuntimeVersion: "containerd://2.1",
				KernelVersion: "6.12", KubeletVersion: h.options.KubeletVersion,
				MachineID: i.ID, SystemUUID: i.ID, BootID: i.ID,
			},
		},
	}
	for key, value := range k.labels {
		node.Labels[key] = value
	}
	for _, t := range k.config.RegisterWithTaints {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return node, nil
}
