// Package launch makes NodeClaims for the demand that found no room. The pools of
// one weight are a tier; the tier of the highest weight comes first. Demand is
// launched on a tier in turns. A turn divides the demand among topology domains,
// bundles pods that must share a node, and packs. It holds back bins for which more
// pods may come, and launches the others within limits and minValues. The next turn
// takes what is left.
//
// Invariants: a launch never exceeds a limit, counted at the largest type that it
// may become. Every type that a launch carries holds the content. A pod that must
// be near others is launched with them or after them. Prices are nano-dollars an
// hour.
package launch
