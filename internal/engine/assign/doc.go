// Package assign puts demand onto room that exists or is on its way. It keeps what
// was promised first: nominations, and what NodeClaims were launched for. Then it
// fills what is left, nodes that run before those that are on their way. Where pods
// that can change places found no room, it packs what is planned on nodes on their
// way anew, together with them.
//
// Invariants: no host gets more than is free there; what preferences were given up
// for a promise is not asked again; a plan that is packed anew leaves less without
// room, or is not taken.
package assign
