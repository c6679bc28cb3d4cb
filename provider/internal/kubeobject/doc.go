// Package kubeobject has what the resources in the cluster share: how an object is declared,
// taken up, waited for and deleted, its metadata, and the checks that its definition makes.
//
// Invariants:
//   - The spec of an object is what the configuration has and nothing else, but fields that an
//     import found without an attribute. Labels and annotations of others stay.
//   - An object is ours by its UID. Another object of its name is neither changed nor deleted.
//   - What an unknown value may be the cause of is left to the API server.
package kubeobject
