// Package drifted keeps the condition Drifted of NodeClaims, and the hashes that it
// follows from: on each NodePool and EC2NodeClass, and on NodeClaims that have none of
// this version. Package drift compares; this package collects what is known and writes;
// Foresee says what it would write.
//
// Invariants: a new leader begins one sweep later, when its watches have caught up. A
// condition is set, and cleared, only on evidence: where EC2 has not listed the instance,
// or a class is not ready, it stays as it is. EC2 is asked once in ListEvery, for all
// instances at once, unless a Collector has just asked the same; what it said counts for evidenceAge. Where the catalogue does not know
// that an instance type is sold, EC2 is asked once in SalesEvery. Every write names the version
// that it follows from, and is left out if that is no longer the newest. A sweep makes at
// most workers writes at a time, so that launches keep their share of the rate limit.
package drifted
