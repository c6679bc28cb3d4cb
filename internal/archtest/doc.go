// Package archtest holds the rules of ARCHITECTURE.md as failing tests.
//
// A rule is a function from the source files of the checkout to breaches. It
// reads syntax only, so the whole costs a second and covers files behind any
// build tag. The linter checks what it can check; what is here needs to know
// the layers.
//
// Every rule is itself tested: testdata holds small trees that break it, with
// the breaches that must be found.
package archtest
