// Package legacy converts the APIs that Karpenter had before v1 to NodePools of
// karpenter.sh/v1, EC2NodeClasses of karpenter.k8s.aws/v1 and the environment of the
// daemon: manifests in, manifests or Terraform configuration out. Objects of v1 stay as they
// are in manifests, and become Terraform configuration as well. What is not of Karpenter is
// left out and named. The list of Karpenter's settings says what becomes of each.
//
// What comes out does what the input did. A default that v1 has changed is written out,
// and a warning says why. Where v1 has nothing that does the same, a warning or an
// error names the object, the field, what is wrong and the remedy. A field that no
// legacy API has is an error, as its author believed that it does something; mistakes
// that tutorials have spread are known by name, with their correction. All objects of
// one conversion are seen together: kubelet settings move from Provisioners to the class
// that they refer to, and the settings of the controller decide what a class lacks.
//
// The output has the whole of v1, whether or not this release carries a field out: the
// definitions in internal/api refuse what it does not.
//
// Invariants: pure, no I/O, no clock, no panic whatever the input; the same input gives
// the same bytes. Output is in the order of the input, classes before pools. A template
// such as ${var.name} is a value like any other and is never evaluated; one for a whole list
// or map is a list or map of one member meanwhile (whole.go).
package legacy
