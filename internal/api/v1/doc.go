// Package v1 holds the wire types of API group karpenter.sh/v1: NodePool and
// NodeClaim, with their CustomResourceDefinitions (generated, embedded) and the
// names of every label, annotation, taint, finalizer, condition and reason of
// the group. The JSON is compatible with Karpenter 1.x for the fields listed
// here; quantities and durations are Kubernetes strings ("500m", "1h30m").
//
// Fields of Karpenter that this release does not carry out are refused, never
// dropped. An API server silently prunes a field that the schema does not know,
// unless the client asks for strict field validation. The manifest would then
// seem to be in force when it is not. So every such field is declared (the
// structs named Refused...), with a rule that fails whenever the field is
// present; the API server's error names the path of the field. Objects that were
// stored under Karpenter's own definitions keep these fields when the
// definitions are replaced, since the fields are declared. RefusedFields lists
// the fields that such an object still holds, for a condition that says so. Only
// server-side apply and strict validation (fieldValidation=Strict) find a
// misspelt field. Writers use one of the two, as kubectl does by default.
//
// Karpenter has some defaults that this release does not carry out. Where such a
// field is absent, consolidationPolicy is WhenEmpty, nodes do not expire, and
// disruption has no budget.
//
// Invariants: no I/O and no clock (times are arguments); dependencies are
// k8s.io/api/core/v1 and k8s.io/apimachinery only.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
