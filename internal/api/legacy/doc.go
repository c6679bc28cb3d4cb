// Package legacy holds the wire types of the APIs that Karpenter had before v1:
// Provisioner (karpenter.sh/v1alpha5), AWSNodeTemplate (karpenter.k8s.aws/v1alpha1),
// NodePool and NodeClaim (karpenter.sh/v1beta1) and EC2NodeClass
// (karpenter.k8s.aws/v1beta1). Package internal/legacy converts them. The first two have
// CRDs of their own here, for clusters that serve them beside v1; the kinds of v1beta1 are
// versions of the same CRDs as those of v1, and are converted only.
//
// A field has the JSON name and the meaning of Karpenter 0.32, and of 0.37 for
// v1beta1. Numbers and truth values are texts in Go (Number, Bool), as a manifest that
// Terraform renders may have a template such as ${var.ttl} in their place. Quantities
// and durations are Kubernetes strings ("500m", "1h30m"); fields whose name begins with
// ttlSeconds are seconds.
//
// Invariants: no I/O; nothing here defaults or checks a value.
package legacy
