// Package bench measures the decision core on the catalogue of a real region and
// on generated demand. It has no code of its own: only benchmarks, each with
// fresh input for every iteration, beside what the peer takes for the same.
package bench
