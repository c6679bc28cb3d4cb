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
//   - A new name of a node pool is one update (resource_node_pool_rename.go): the old
//     pool is deleted only when the new one is ready.
//   - Null and unknown values are resolved here, in plan modifiers and in
//     provider/internal. The packages below never see them.
//
// This package has the provider's own configuration (provider_*.go), the list of what it
// serves (provider.go), and the resources and the data source in the cluster: a resource is in
// resource_<name>.go, with its operations in resource_<name>_crud.go and what an import
// reconstructs in resource_<name>_import.go. The resources in AWS are packages of
// provider/internal, as is what all resources share. ARCHITECTURE.md has the map, and archtest
// Rooms the order.
package provider
