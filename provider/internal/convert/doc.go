// Package convert turns the attributes of node pools and node classes into the
// wire types of the API and back. Types and schema of most attributes follow from the fields
// of the wire types, and so do both conversions.
//
// Invariants:
//   - A null or unknown attribute becomes an absent field, so that a configuration
//     that is partly known can be partly checked.
//   - An absent field becomes a null attribute.
//   - A value that is converted there and back is unchanged, except for the
//     spelling of quantities and durations (package fwtype).
//   - A value that cannot be parsed becomes an absent field: the attribute's own
//     validator names it.
package convert
