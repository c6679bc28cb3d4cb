// Package fwvalue turns values of the plugin framework into Go values and back.
//
// Invariant: nothing here fails. A null or unknown value is nothing, and a value of another type
// is, too: the schema has refused it before.
package fwvalue
