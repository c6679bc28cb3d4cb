// Package translate turns objects of the Kubernetes API into the words of the
// decision core, and launches back into NodeClaims. It is the one place where
// resource.Quantity, selectors and defaults of the API are interpreted; the
// daemon and the provider share it. It therefore also knows what is read of
// objects, and reduces them to that (Keeper).
//
// Invariants: pure, but for what a Keeper remembers to share; an object that
// cannot be understood is an error that names the object, the field and the
// remedy, never a guess; in a pod it is a text among what the core does not carry
// out, which holds up that pod alone. What a pod refers to is found through
// Lookups. Units: millicores and bytes, rounded up for requests and down for what
// nodes offer.
package translate
