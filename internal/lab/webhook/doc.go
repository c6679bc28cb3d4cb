// Package webhook answers the two webhooks that EKS runs for a cluster.
//
// Tokens: the API server asks who a bearer token belongs to; the answer comes
// from the cloud, which checks the presigned GetCallerIdentity inside the token
// and the cluster's access entries. Pods: a pod whose service account carries
// a role annotation is given the environment and the projected token that
// let an AWS SDK assume the role (the pod identity webhook of EKS).
//
// The server listens on a free port of 127.0.0.1 with a certificate of the
// laboratory's authority.
package webhook
