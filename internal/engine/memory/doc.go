// Package memory owns what Steps remember because the cluster's objects cannot say
// it: since when something is so, what is planned on the nodes of NodeClaims, which
// offerings had no capacity and how launches have failed, how demand grew, and which
// nominations the scheduler has refused.
//
// Invariants: the whole memory may be lost; that delays a removal or forgets a
// penalty, and breaks nothing. Lists are sorted by their key. Lists are replaced
// and never changed, so that the memory of an earlier Step stays valid.
package memory
