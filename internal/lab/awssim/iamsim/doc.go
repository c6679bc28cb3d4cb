// Package iamsim is the simulated IAM: users with access keys, roles with
// inline and attached policies, managed policies, instance profiles and OIDC
// providers. It also owns the credentials of role sessions, which STS and the
// instance metadata hand out, and it answers every other service's question
// whether a caller may do a thing (wire.Authorizer).
//
// Invariants: names are unique without regard to case; a policy document that
// was accepted parses; a session is valid only while the very role that it was
// issued for exists; nothing is allowed that no policy allows. Unit of
// durations in the protocol: seconds.
package iamsim
