// Package sqssim is the simulated SQS: standard queues with attributes, tags,
// a policy of their own, visibility timeouts and long polling.
//
// Invariants: a message is handed out again only after its visibility timeout;
// a message older than the retention period is gone; whoever the identity and
// queue policies do not let in gets nothing. First-in-first-out queues and
// redrive are refused. A KMS key is an attribute and no more: no message is
// encrypted, and nobody is asked for permission to use the key. Durations in the
// protocol are seconds.
package sqssim
