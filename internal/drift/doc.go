// Package drift says whether the machine of a NodeClaim is still what its NodePool and
// EC2NodeClass ask for. The reasons are Karpenter's.
//
// A comparison has two kinds. What the selectors of a class resolve to (images, subnets,
// security groups, capacity reservations), and the requirements of a pool, are compared
// with the machine itself. All else is static: it is compared by a hash that is written
// on the NodeClaim when it is made or launched, next to the version of the hash.
//
// The hash of an object names a digest for each of its fields, so that a message can say
// which field has changed. A field counts only if it is set and is not its default. So a
// field that a later version adds changes no hash, with a default or without, as long as
// nobody sets it; a default that changes needs another Version. Lists count as sets.
//
// Invariants: everything here is pure; what is not known is never drift; a NodeClaim
// whose hash has another version, such as Karpenter's, has no static drift: Stamp writes
// it anew. A class that is not ready, and a selector that found nothing, say nothing.
package drift
