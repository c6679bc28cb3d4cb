// Package apiserver has the client of the API server of the provider's cluster.
//
// Invariants:
//   - A client talks to one cluster. Its UID, that of the namespace kube-system, says which.
//   - The first contact waits for a cluster that does not know the provider yet, and not for an
//     address that does not answer.
package apiserver
