// Package deploy gives the measurements of the laboratory what the provider gives to
// a user: the AWS account's part, a node class, and where the daemon's metrics are.
//
// Invariants: everything is made once, in a fresh laboratory; what it makes goes
// with the laboratory.
package deploy
