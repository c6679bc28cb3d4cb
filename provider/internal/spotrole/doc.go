// Package spotrole is the resource karpenter_spot_service_linked_role: the account's
// service-linked role of EC2 Spot.
//
// Invariants:
//   - The role is there once in an account, so a role that exists is adopted.
//   - An adopted role is never deleted. One that was made is deleted only if that is asked for.
package spotrole
