// Package aws is the adapter to AWS. Its methods take and return plain structs and
// return typed errors; there is one method for each action of the provider or the
// daemon.
//
// It owns the SDK clients, their credentials, retries and time limits, the meaning of
// AWS error codes, and the waits for IAM's eventual consistency. It decides nothing
// about nodes, prices or plans.
//
// Invariants: New never connects; a create returns ErrConflict if the resource exists
// already; a delete returns no error if the resource is gone; every other call may be
// repeated. Names, ARNs and ids are strings as AWS writes them; policies are JSON text;
// durations are time.Duration.
package aws
