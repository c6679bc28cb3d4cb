// Package launch makes NodeClaims of the demand that found no room. Pools of the
// highest weight come first, a tier each. In a turn, the demand of a tier is divided
// among topology domains, bundled where pods must share a node, packed, held back
// where more pods may come, and launched within limits and minValues; what is left
// comes in the next turn.
//
// Invariants: a launch never exceeds a limit, counted at the largest type that it
// carries; every type that it carries holds the content; a pod that must be near
// others is launched with them or after them. Prices are nano-dollars an hour.
package launch
