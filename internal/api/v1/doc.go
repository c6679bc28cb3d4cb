// Package v1 holds the wire types of API group karpenter.sh/v1: NodePool and
// NodeClaim, with their CustomResourceDefinitions (generated, embedded) and the
// names of every label, annotation, taint, finalizer, condition and reason of
// the group. The JSON is that of Karpenter 1.15; quantities and durations are Kubernetes strings ("500m", "1h30m").
//
// The schemas accept and refuse what Karpenter's do; the module tools/upstream compares
// the two. An API server silently prunes a field that the schema does not know, unless the
// client asks for strict field validation, so a field that is not carried out is in the
// schema all the same, and package translate says what becomes of it (FieldsOf): the
// condition Unsupported names it, or the object is not ready. Only server-side apply and
// strict validation (fieldValidation=Strict) find a misspelt field. Writers use one of the
// two, as kubectl does by default.
//
// Invariants: no I/O and no clock (times are arguments); dependencies are
// k8s.io/api/core/v1 and k8s.io/apimachinery only.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
