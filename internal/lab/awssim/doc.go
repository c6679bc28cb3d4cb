// Package awssim is the front end of the simulated AWS: one HTTP listener on
// loopback that unmodified SDKs reach through AWS_ENDPOINT_URL. It recognises
// service and action, checks the signature, hands the call to the service (a
// package of its own below this one) and writes the answer in the protocol of
// that service. It also seeds what a laboratory starts with, verifies cluster
// tokens as EKS does, gives pods credentials as EKS Pod Identity's agent does,
// logs every call and injects faults.
//
// Invariants: a call that is not signed by a known key reaches no service (but
// AssumeRoleWithWebIdentity, which is never signed); IAM decides on every
// call; state lives in the services only.
package awssim
