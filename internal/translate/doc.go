// Package translate turns objects of the Kubernetes API into the values that the
// decision core reads (packages cluster, catalog and quantity), and launches
// back into NodeClaims. It is the one place that interprets resource.Quantity,
// selectors and defaults of the API; the daemon and the provider share it. So it
// also knows which fields of an object are read, and Keeper reduces objects to
// these fields.
//
// Invariants: all functions are pure; only a Keeper has a memory, of values to
// share. An object that cannot be understood is an error that names the object,
// the field and the remedy, never a guess. A fault in a pod is written to
// Shape.Unsupported instead, so that it holds up that pod alone. Lookups finds
// the objects that a pod refers to. Units: millicores and bytes, rounded up for
// requests and down for what nodes offer.
package translate
