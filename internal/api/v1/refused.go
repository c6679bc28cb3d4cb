package v1

import "k8s.io/apimachinery/pkg/runtime"

// RefusedObject keeps the JSON of a field that is refused, so that nothing stored is lost.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type RefusedObject struct {
	runtime.RawExtension `json:",inline"`
}

// RefusedNodePool has Karpenter's fields of NodePool.spec that are refused.
type RefusedNodePool struct {
	// Replicas is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="static capacity is not supported yet: remove the field"
	Replicas *int64 `json:"replicas,omitempty"`
}

// RefusedFields lists the paths of refused fields that the object holds. Only an
// object that was stored before these definitions were installed can hold one.
func (p *NodePool) RefusedFields() []string {
	if p.Spec.Replicas == nil {
		return nil
	}
	return []string{"spec.replicas"}
}
