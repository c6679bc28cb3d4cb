package awssim

import "errors"

var (
	// ErrOptions says: New was called with options that make no cloud.
	ErrOptions = errors.New("invalid options")
	// ErrNoCredentials says: the metadata service of the instance, or the Pod Identity agent, has no credentials to give.
	ErrNoCredentials = errors.New("no credentials")
	// ErrToken says: a cluster token is malformed, not signed right, or for another cluster.
	ErrToken = errors.New("cluster token is not valid")
	// ErrNoAccess says: the token is valid, but the cluster has no access entry for its identity.
	ErrNoAccess = errors.New("no access entry")
	// ErrRefused says: a service would not accept such content of a thing.
	ErrRefused = errors.New("the service does not accept it")
)
