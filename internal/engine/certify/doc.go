// Package certify proves what a plan, or the whole fleet, costs at least, and says it
// in terms of the objects, so that package proof can check it without the engine. The
// audit also prices every constraint by the bound without it.
//
// Invariants: a certificate is a relaxation: only requirements count, of every pool
// and every offering, so that its bound holds for any plan. Bounds are nano-dollars
// an hour, rounded down.
package certify
