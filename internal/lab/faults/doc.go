// Package faults serves the faults of a laboratory at one control endpoint on loopback, and
// has the Go client for it.
//
//	POST   /faults/NAME?PARAMETER=VALUE   begins a fault and answers its id
//	GET    /faults                        what can be begun, and what is in force
//	DELETE /faults/ID                     ends a fault
//	DELETE /faults                        ends all of them
//
// What a fault does is its own affair: a Fault has a function that begins it and returns the
// function that ends it. The parameter "for" is every fault's: it ends after that time.
package faults
