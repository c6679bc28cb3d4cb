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
//   - What a resource has made or imported is noted, with an identity, in its
//     private state (made.go). Nothing else is changed or deleted.
//   - A create that fails takes back what it made and leaves no state; one whose
//     wait runs out is a warning, and the next apply waits on (ready.go).
//   - Null and unknown are resolved here, in plan modifiers and in
//     provider/internal, never below.
//
// Files: provider_*.go is the provider's own configuration; each resource is
// resource_<name>.go, where it is large with its operations in
// resource_<name>_crud.go and what an import reads back in
// resource_<name>_import.go.
package provider
