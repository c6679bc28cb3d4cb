// Package random makes numbers that look random and follow from a seed alone.
//
// Invariants: pure; the same seed gives the same numbers on every machine, so that
// plans and simulations can be repeated. The numbers are not for secrets.
package random

// At returns number n of the seed's sequence; n starts at 1. The generator is
// splitmix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014).
func At(seed, n uint64) uint64 {
	x := seed + n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
