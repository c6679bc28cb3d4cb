package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaim is one machine: asked for, launched, joined, drained and terminated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.metadata.labels.node\.kubernetes\.io/instance-type`
// +kubebuilder:printcolumn:name="Capacity",type=string,JSONPath=`.metadata.labels.karpenter\.sh/capacity-type`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.metadata.labels.topology\.kubernetes\.io/zone`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="ImageID",type=string,JSONPath=`.status.imageID`,priority=1
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.providerID`,priority=1
// +kubebuilder:printcolumn:name="NodePool",type=string,JSONPath=`.metadata.labels.karpenter\.sh/nodepool`,priority=1
// +kubebuilder:printcolumn:name="NodeClass",type=string,JSONPath=`.spec.nodeClassRef.name`,priority=1
// +kubebuilder:printcolumn:name="Drifted",type=string,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`,priority=1
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: delete the NodeClaim and create another"
	Spec NodeClaimSpec `json:"spec"`
	// +optional
	Status NodeClaimStatus `json:"status,omitempty"`

	// Unread says which fields of the object could not be read, and are left out.
	Unread Unread `json:"-"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeClaim `json:"items"`
}

// NodeClaimSpec is what the machine must be; it never changes.
type NodeClaimSpec struct {
	NodeSpec `json:",inline"`
	// Resources are what the planned pods need, the DaemonSets' share included.
	//
	// +optional
	Resources ResourceRequirements `json:"resources,omitempty"`
}

// ResourceRequirements are the resources that a NodeClaim's machine must have.
type ResourceRequirements struct {
	// Requests by resource name.
	//
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is the observed state of a NodeClaim.
type NodeClaimStatus struct {
	// NodeName is set on registration.
	//
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// ProviderID is aws:///<zone>/<instance id>; set on launch.
	//
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// ImageID is the AMI that the instance was launched from.
	//
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// Capacity is estimated at launch.
	//
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Allocatable is Capacity without what the system keeps for itself.
	//
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// LastPodEventTime is when the last pod came to the node or went from it. Pods of
	// DaemonSets and Jobs and static pods do not count.
	//
	// +optional
	LastPodEventTime *metav1.Time `json:"lastPodEventTime,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
}

// Conditions gives access to the NodeClaim's conditions.
func (c *NodeClaim) Conditions() ConditionSet {
	return NewConditionSet(c, &c.Status.Conditions, ConditionLaunched, ConditionRegistered, ConditionInitialized)
}
