// Package judge holds the simulated AWS to things that nobody here wrote: an
// independent implementation of the same APIs (moto; ministack for what moto
// lacks) and the service models of another SDK (botocore), all in a Python
// environment that the package makes.
//
// Its tests, behind the build tag lab, are the contract suite (one set of
// cases, run against the simulator and the others) and the wire check (every
// response of the simulator, read with botocore's models).
//
// Invariants: the environment holds exactly what requirements.txt pins, hashes
// checked, and lies outside the checkout; made once, it needs no network; what
// is missing on the machine fails with one line that says how to get it.
package judge
