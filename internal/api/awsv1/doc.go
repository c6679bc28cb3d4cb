// Package awsv1 holds the wire type of API group karpenter.k8s.aws/v1,
// EC2NodeClass, with its CustomResourceDefinition (generated, embedded) and the
// group's label, finalizer, condition and reason names. The JSON is compatible
// with Karpenter's AWS provider 1.x for the fields listed here.
//
// Units are in the fields' names or comments; sizes are Kubernetes quantities.
// Fields of Karpenter that this release does not carry out are declared and
// refused (the structs named Refused...); package v1 says why.
//
// Invariants: no I/O and no clock (times are arguments); dependencies are
// package v1 and k8s.io/apimachinery only.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
// +versionName=v1
package awsv1
