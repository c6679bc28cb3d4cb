// Package bench measures the decision core on the catalogue of a real region and
// on generated demand, beside what the peer takes for the same. It owns the
// generator of that demand; the rest are benchmarks, each with fresh input for
// every iteration.
//
// Invariants: equal seeds give equal demand. Units: millicores and MiB.
package bench
