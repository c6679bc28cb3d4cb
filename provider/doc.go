// Package provider is the Terraform provider `karpenter`: it declares what
// Karpenter needs around and inside an EKS cluster (IAM roles, instance
// profile, discovery tags, interruption queue, the daemon, node classes and
// node pools) as resources of the plugin framework, protocol 6.
//
// Invariants:
//   - Configure never dials. Clients are built when a resource first needs
//     them. While the configuration is unknown they give ErrConfigUnknown: Read
//     then keeps the prior state with a warning, and plans go on offline.
//   - A plan needs no network. It computes names, ARNs whose account is known,
//     policy documents and manifests. Live checks are made only if AWS answers.
//   - The private state of a resource notes what the resource has made or
//     imported, with an identity (package ownership). Nothing else is changed or deleted,
//     but what an apply that was killed has left.
//   - A create that fails removes what it made and leaves no state. A create
//     whose wait runs out ends with a warning, and the next apply continues to
//     wait (package managed).
//   - A new name of a node pool is one update: the old pool is deleted only
//     when the new one is ready (package nodepool).
//   - Null and unknown values are resolved here, in plan modifiers and in
//     provider/internal. The packages below never see them.
//
// This package has the provider's own configuration (provider_*.go), the list of what it serves
// (provider.go), the data source and the function. A resource is a package of
// provider/internal, and what resources share is in packages below them: ARCHITECTURE.md has the
// map, and archtest Provider the order.
package provider
