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

// RefusedNodeSpec has Karpenter's fields of a template's or NodeClaim's spec that are refused.
type RefusedNodeSpec struct {
	// ExpireAfter is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="expiry is not supported yet, nodes do not expire: remove the field"
	ExpireAfter *string `json:"expireAfter,omitempty"`
}

// RefusedFields lists the paths of refused fields that the object holds. Only an
// object that was stored before these definitions were installed can hold one.
func (p *NodePool) RefusedFields() []string {
	var paths []string
	if p.Spec.Replicas != nil {
		paths = append(paths, "spec.replicas")
	}
	return append(paths, p.Spec.Template.Spec.refusedFields("spec.template.spec")...)
}

// RefusedFields lists the paths of refused fields that the object holds, as for
// a NodePool.
func (c *NodeClaim) RefusedFields() []string {
	return c.Spec.refusedFields("spec")
}

func (s *NodeSpec) refusedFields(path string) []string {
	if s.ExpireAfter == nil {
		return nil
	}
	return []string{path + ".expireAfter"}
}
