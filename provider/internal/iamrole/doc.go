// Package iamrole has what the IAM roles that the provider makes share.
//
// Invariants:
//   - A role is ours by its RoleId. IAM has a name once in all regions, so a new role says in
//     tags whose cluster it serves, and a role of another cluster is never taken up.
//   - Policies that others attach stay.
package iamrole
