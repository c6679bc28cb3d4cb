// Package awsv1 holds the wire type of API group karpenter.k8s.aws/v1,
// EC2NodeClass, with its CustomResourceDefinition (generated, embedded) and the
// group's label, finalizer, condition and reason names. The JSON is that of
// Karpenter's AWS provider 1.15.
//
// Units are in the fields' names or comments; sizes are Kubernetes quantities.
// Fields that are not carried out are declared all the same; package v1 says why.
//
// Invariants: no I/O and no clock (times are arguments); dependencies are
// package v1 and k8s.io/apimachinery only.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
// +versionName=v1
package awsv1
