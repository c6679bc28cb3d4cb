// Package fused has one product that a compiler may fuse with the sum after it,
// and one that it may not.
package fused

// Fused may be rounded once only.
func Fused(x, y, z float64) float64 { return x*y + z }

// Rounded is rounded twice: a conversion rounds (Go specification, "Floating-point
// operators").
func Rounded(x, y, z float64) float64 { return float64(x*y) + z }
