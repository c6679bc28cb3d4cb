// Package memory owns what is remembered from Step to Step because the cluster's
// objects cannot say it: since when something is so, what NodeClaims were launched
// for, which offerings had no capacity, how demand grew, and which nominations the
// scheduler has refused.
//
// Invariants: all of it may be lost; that delays a removal, or forgets a penalty,
// and breaks nothing. Lists are sorted by their key and are replaced, not changed,
// so that the memory of an earlier Step stays as it was.
package memory
