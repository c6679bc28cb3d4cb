// Package v1 holds the wire types of API group karpenter.sh/v1: NodePool and
// NodeClaim, with their CustomResourceDefinitions (generated, embedded) and the
// names of every label, annotation, taint, finalizer, condition and reason of
// the group. The JSON is compatible with Karpenter 1.x for the fields listed
// here; quantities and durations are Kubernetes strings ("500m", "1h30m").
//
// Fields of Karpenter that this release does not carry out are refused, never
// dropped. An API server prunes fields that a schema does not know, silently
// unless the client asks for strict field validation, and a manifest would
// then seem to be honoured when it is not. So every such field is declared
// (the structs named Refused...) with a rule that fails whenever the field is
// present; the API server's error names the field's path. Because the fields
// are declared, objects that were stored under Karpenter's own definitions
// keep them when the definitions are replaced; RefusedFields lists what such
// an object still holds, for a condition that says so. A misspelt field is
// found by server-side apply and by strict validation (fieldValidation=Strict)
// only: writers use one of them, as kubectl does by default.
//
// Where Karpenter has a default that is not carried out, absence means this:
// consolidationPolicy is WhenEmpty, nodes do not expire, disruption has no
// budget.
//
// Invariants: no I/O and no clock (times are arguments); dependencies are
// k8s.io/api/core/v1 and k8s.io/apimachinery only.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
