// Package aws is the adapter to AWS: plain structs in, plain structs and typed
// errors out, one method per thing that the provider or the daemon does.
//
// It owns the SDK clients, their credentials, retries and time limits, the
// meaning of AWS error codes, and the waiting that IAM's eventual consistency
// asks for. It decides nothing about nodes, prices or plans.
//
// Invariants: New never dials; creates say ErrConflict when the thing exists
// already, deletes are silent when it is gone, and every other call may be
// repeated. Names, ARNs and ids are strings as AWS writes them; policies are
// JSON text; durations are time.Duration.
package aws
