package v1

import "k8s.io/apimachinery/pkg/runtime"

// RefusedObject keeps the JSON of a field that is refused, so that nothing stored is lost.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type RefusedObject struct {
	runtime.RawExtension `json:",inline"`
}
