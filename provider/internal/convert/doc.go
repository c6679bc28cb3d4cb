// Package convert turns the attributes of node pools and node classes into the
// wire types of the API and back.
//
// Invariants: a null or unknown attribute becomes an absent field, so that a
// configuration that is known in part can be checked in part; an absent field
// becomes a null attribute; what is converted there and back is unchanged, save
// for the spelling of quantities and durations (package fwtype). Values that
// cannot be parsed become absent too: the attribute's own validator names them.
package convert
