// Package certify proves a lower bound on the cost of a plan, or of the whole
// fleet. It writes the proof in terms of the objects, so that package proof can
// check it without the engine. The audit also prices each constraint of the pools:
// the price is the difference between the bound with the constraint and the bound
// without it.
//
// Invariants: a certificate is a relaxation, so its bound holds for any plan. It
// counts requirements only, and allows every pool and every offering. Bounds are
// nano-dollars an hour, rounded down.
package certify
