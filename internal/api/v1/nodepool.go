package v1

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePool says which nodes may be launched, from which NodeClass, within which limits.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type=string,JSONPath=`.spec.template.spec.nodeClassRef.name`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Weight",type=integer,JSONPath=`.spec.weight`,priority=1
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.status.resources.cpu`,priority=1
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.status.resources.memory`,priority=1
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodePoolSpec `json:"spec"`
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`

	// Unread says which fields of the object could not be read, and are left out.
	Unread Unread `json:"-"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePool `json:"items"`
}

// NodePoolSpec is the wanted state of a NodePool.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="a NodePool is static or it is not: replicas cannot be added or removed later; delete the NodePool and create it anew"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || size(self.limits) == 0 || size(self.limits) == 1 && 'nodes' in self.limits",message="a static NodePool (replicas) has only the limit nodes: remove all other limits"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="a static NodePool (replicas) has no weight, as it launches no nodes for pods: remove weight"
type NodePoolSpec struct {
	// Template is what every NodeClaim of the pool is made from.
	Template NodeTemplate `json:"template"`
	// Disruption says when nodes may be removed.
	//
	// +optional
	// +kubebuilder:default={consolidateAfter: "0s"}
	Disruption Disruption `json:"disruption"`
	// Limits bound the sum of the pool's capacity, by resource name; "nodes" counts nodes.
	//
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// Weight orders pools: of two that could serve a pod the heavier is taken. Absent means 0.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight *int32 `json:"weight,omitempty"`
	// Replicas makes the NodePool static: it keeps so many nodes, whatever the pods need,
	// and launches none for them. consolidationPolicy and consolidateAfter then mean
	// nothing.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int64 `json:"replicas,omitempty"`
}

// NodeTemplate is the template of a NodePool's NodeClaims.
type NodeTemplate struct {
	// +optional
	ObjectMeta TemplateMeta     `json:"metadata,omitempty"`
	Spec       NodeTemplateSpec `json:"spec"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue = string

// TemplateMeta is copied to NodeClaims and nodes.
//
// +kubebuilder:object:generate=false
type TemplateMeta struct {
	// Labels of the nodes, in addition to those that the requirements imply.
	//
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, k == 'karpenter.sh/capacity-type' || !k.matches('^([^/]+[.])?karpenter[.]sh(/|$)'))",message="labels of domain karpenter.sh are set by the daemon, except karpenter.sh/capacity-type: remove the label"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'kubernetes.io/hostname')",message="label kubernetes.io/hostname names one node: remove the label"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]+[.])?karpenter[.]k8s[.]aws(/|$)') || k in ['karpenter.k8s.aws/ec2nodeclass', 'karpenter.k8s.aws/capacity-reservation-id', 'karpenter.k8s.aws/capacity-reservation-type', 'karpenter.k8s.aws/capacity-reservation-interruptible', 'karpenter.k8s.aws/instance-category', 'karpenter.k8s.aws/instance-generation', 'karpenter.k8s.aws/instance-family', 'karpenter.k8s.aws/instance-size', 'karpenter.k8s.aws/instance-capability-flex', 'karpenter.k8s.aws/instance-cpu', 'karpenter.k8s.aws/instance-cpu-manufacturer', 'karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz', 'karpenter.k8s.aws/instance-memory', 'karpenter.k8s.aws/instance-ebs-bandwidth', 'karpenter.k8s.aws/instance-network-bandwidth', 'karpenter.k8s.aws/instance-local-nvme', 'karpenter.k8s.aws/instance-gpu-name', 'karpenter.k8s.aws/instance-gpu-manufacturer', 'karpenter.k8s.aws/instance-gpu-count', 'karpenter.k8s.aws/instance-gpu-memory', 'karpenter.k8s.aws/instance-accelerator-name', 'karpenter.k8s.aws/instance-accelerator-manufacturer', 'karpenter.k8s.aws/instance-accelerator-count', 'karpenter.k8s.aws/instance-hypervisor', 'karpenter.k8s.aws/instance-encryption-in-transit-supported', 'karpenter.k8s.aws/instance-tenancy', 'karpenter.k8s.aws/placement-group-id', 'karpenter.k8s.aws/placement-group-partition'])",message="not a label of domain karpenter.k8s.aws that nodes have: remove the label"
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// Annotations of the NodeClaims and nodes.
	//
	// +optional
	// +mapType=granular
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DeepCopyInto copies the metadata. controller-gen writes no copy of a map of LabelValue:
// an alias carries the rules of the values, and Go code sees plain text.
func (m *TemplateMeta) DeepCopyInto(out *TemplateMeta) {
	out.Labels, out.Annotations = maps.Clone(m.Labels), maps.Clone(m.Annotations)
}

// NodeTemplateSpec is the node part of a template.
//
// +kubebuilder:validation:XValidation:rule="self.requirements.all(r, r.key != 'karpenter.sh/nodepool')",message="label karpenter.sh/nodepool is the pool itself and cannot be required: remove the requirement"
// +kubebuilder:validation:XValidation:rule="self.nodeClassRef.group == oldSelf.nodeClassRef.group && self.nodeClassRef.kind == oldSelf.nodeClassRef.kind",message="group and kind of nodeClassRef do not change: create another NodePool"
type NodeTemplateSpec struct {
	NodeSpec `json:",inline"`
}

// ConsolidationPolicy says which nodes may be removed to save money.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

// The policies. Pods of DaemonSets and mirror pods do not count as pods of a node.
const (
	ConsolidationWhenEmpty                ConsolidationPolicy = "WhenEmpty"                // nodes without pods
	ConsolidationWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized" // also nodes whose pods run cheaper elsewhere
	ConsolidationBalanced                 ConsolidationPolicy = "Balanced"                 // the same, for savings that are worth what they disturb
)

// Disruption says when nodes may be removed.
type Disruption struct {
	// ConsolidationPolicy says which nodes may be removed to save money.
	//
	// +optional
	// +kubebuilder:default=WhenEmptyOrUnderutilized
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// ConsolidateAfter is how long no pod must have come to a node or gone from it
	// before the node may be removed to save money, or Never.
	//
	// +optional
	// +kubebuilder:default="0s"
	ConsolidateAfter NillableDuration `json:"consolidateAfter"`
	// Budgets bound how many nodes of the pool are removed at once; all of them hold.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:default={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(b, has(b.schedule) == has(b.duration))",message="schedule and duration go together: set both or neither"
	Budgets []Budget `json:"budgets,omitempty"`
}

// Budget bounds how many nodes are removed at once, for some reasons, always or within
// windows.
type Budget struct {
	// Nodes is a number of nodes, or a percentage of the pool's nodes, rounded up.
	//
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	Nodes string `json:"nodes"`
	// Reasons are those that the budget is about; none means all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// Schedule is a cron expression of when windows of the budget begin, in UTC unless
	// it begins with TZ=<zone>.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$`
	Schedule *string `json:"schedule,omitempty"`
	// Duration is how long each window lasts.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// DisruptionReason is why a node is removed.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted;Unhealthy
type DisruptionReason string

// ReasonUnhealthy is Karpenter's reason to repair a node. The daemon repairs none.
const ReasonUnhealthy DisruptionReason = "Unhealthy"

// NodePoolStatus is the observed state of a NodePool.
type NodePoolStatus struct {
	// Resources is the sum of the pool's capacity.
	//
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Nodes is the number of the pool's nodes.
	//
	// +optional
	// +kubebuilder:default=0
	Nodes *int64 `json:"nodes,omitempty"`
	// NodeClassObservedGeneration is the generation of the EC2NodeClass that NodeClassReady
	// was found for.
	//
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
}

// Conditions gives access to the NodePool's conditions.
func (p *NodePool) Conditions() ConditionSet {
	return NewConditionSet(p, &p.Status.Conditions, ConditionValidationSucceeded, ConditionNodeClassReady)
}
