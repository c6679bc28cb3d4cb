// Package provider is the Terraform provider `karpenter`: it declares what
// Karpenter needs around and inside an EKS cluster (IAM roles, instance
// profile, discovery tags, interruption queue, the daemon, node classes and
// node pools) as resources of the plugin framework, protocol 6.
//
// Invariants:
//   - Configure never dials. Clients are built when a resource first needs
//     them; a configuration that is still unknown gives ErrConfigUnknown, on
//     which Read keeps the prior state with a warning and plans go on offline.
//   - A plan needs no network. What can be computed (names, ARNs where the
//     account is known, policy documents, manifests) is computed; live checks
//     are made only where the cloud answers.
//   - What exists is in state: a create that fails halfway saves what it made.
//   - Null and unknown are resolved here, in plan modifiers and in
//     provider/internal, never below.
//
// Files: provider_*.go is the provider's own configuration; each resource is
// resource_<name>.go, where it is large with its conversions in
// resource_<name>_model.go and its operations in resource_<name>_crud.go.
package provider
