package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operators of a requirement beyond those of corev1.NodeSelectorOperator.
const (
	OperatorGte corev1.NodeSelectorOperator = "Gte"
	OperatorLte corev1.NodeSelectorOperator = "Lte"
)

// Requirement restricts the nodes to those whose label Key satisfies Operator over Values.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && size(self.values) > 0)",message="operator In needs at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && size(self.values) == 1 && int(self.values[0]) >= 0)",message="operators Gt, Lt, Gte and Lte need exactly one value, an integer of 0 or more"
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !has(self.minValues) || !has(self.values) || size(self.values) == 0 || size(self.values) >= self.minValues",message="operator In with minValues needs at least that many values: add values or lower minValues"
// +kubebuilder:validation:XValidation:rule="self.key != 'kubernetes.io/hostname'",message="label kubernetes.io/hostname names one node and cannot be required: remove the requirement"
// +kubebuilder:validation:XValidation:rule="self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.key.matches('^([^/]+[.])?karpenter[.]sh(/|$)')",message="labels of domain karpenter.sh are set by the daemon, except karpenter.sh/capacity-type: remove the requirement"
// +kubebuilder:validation:XValidation:rule="!self.key.matches('^([^/]+[.])?karpenter[.]k8s[.]aws(/|$)') || self.key in ['karpenter.k8s.aws/ec2nodeclass', 'karpenter.k8s.aws/capacity-reservation-id', 'karpenter.k8s.aws/capacity-reservation-type', 'karpenter.k8s.aws/capacity-reservation-interruptible', 'karpenter.k8s.aws/instance-category', 'karpenter.k8s.aws/instance-generation', 'karpenter.k8s.aws/instance-family', 'karpenter.k8s.aws/instance-size', 'karpenter.k8s.aws/instance-capability-flex', 'karpenter.k8s.aws/instance-cpu', 'karpenter.k8s.aws/instance-cpu-manufacturer', 'karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz', 'karpenter.k8s.aws/instance-memory', 'karpenter.k8s.aws/instance-ebs-bandwidth', 'karpenter.k8s.aws/instance-network-bandwidth', 'karpenter.k8s.aws/instance-local-nvme', 'karpenter.k8s.aws/instance-gpu-name', 'karpenter.k8s.aws/instance-gpu-manufacturer', 'karpenter.k8s.aws/instance-gpu-count', 'karpenter.k8s.aws/instance-gpu-memory', 'karpenter.k8s.aws/instance-accelerator-name', 'karpenter.k8s.aws/instance-accelerator-manufacturer', 'karpenter.k8s.aws/instance-accelerator-count', 'karpenter.k8s.aws/instance-hypervisor', 'karpenter.k8s.aws/instance-encryption-in-transit-supported', 'karpenter.k8s.aws/instance-tenancy', 'karpenter.k8s.aws/placement-group-id', 'karpenter.k8s.aws/placement-group-partition']",message="not a label of domain karpenter.k8s.aws that nodes have: correct the key, such as karpenter.k8s.aws/instance-category"
type Requirement struct {
	// Key is the label's key.
	//
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key"`
	// Operator relates the label's value to Values.
	//
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// Values are label values; one integer for Gt, Lt, Gte and Lte.
	//
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
	// MinValues is how many different values of the label the instance types of a
	// launch must have between them, so that no launch depends on too few. Where
	// that cannot be had, the daemon's min-values policy decides.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	MinValues *int `json:"minValues,omitempty"`
}

// NodeClassReference names the cloud's part of a node's configuration. Objects that refer
// to another kind than EC2NodeClass are another controller's, and left alone.
type NodeClassReference struct {
	// Group is karpenter.k8s.aws.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	Group string `json:"group"`
	// Kind is EC2NodeClass.
	//
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// Name of the EC2NodeClass.
	//
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// Taint is corev1.Taint with the rules that a node's taints must keep.
type Taint struct {
	// Key is a qualified name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key"`
	// Value may be absent.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Value string `json:"value,omitempty"`
	// Effect on pods that do not tolerate the taint.
	//
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
	// TimeAdded is when a taint of effect NoExecute was added.
	//
	// +optional
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// NodeSpec is what a NodePool's template and a NodeClaim have in common.
type NodeSpec struct {
	// Taints are on the node for as long as it lives.
	//
	// +optional
	// +listType=atomic
	Taints []Taint `json:"taints,omitempty"`
	// StartupTaints are on the node when it joins and are removed by something else
	// (a CNI, a CSI driver); pods need not tolerate them.
	//
	// +optional
	// +listType=atomic
	StartupTaints []Taint `json:"startupTaints,omitempty"`
	// Requirements restrict instance types, zones, capacity types and further labels; all must hold.
	//
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Requirements []Requirement `json:"requirements"`
	// NodeClassRef names the EC2NodeClass.
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod bounds a drain; when it has passed, pods are deleted
	// whatever their PodDisruptionBudget says. Without it a drain waits for ever.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is how long the node may live, or Never. Some time before, it is
	// replaced; at its end it goes even if its pods have no other place, if
	// terminationGracePeriod bounds the drain.
	//
	// +optional
	// +kubebuilder:default="720h"
	ExpireAfter *NillableDuration `json:"expireAfter,omitempty"`
}
