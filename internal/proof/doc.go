// Package proof checks the certificate of a lower bound (plan.Certificate), for
// whoever does not believe the engine. It shares no code with the engine: it starts
// from the raw objects, finds out itself which pods there are, what can be bought
// and what may run where, and then does one pass of exact integer arithmetic.
//
// Read check.go first; it is the argument. Whatever nodes a fleet buys, and however
// it fills them, the pods on a node are worth no more than all of its room is, each
// resource at the highest price that a group of pods which may run there gives to
// it. Where no node for sale has room worth more than it costs, a fleet that
// carries all pods costs what they are worth at least, less what may be had without
// paying for it: the room that is there, and what reservations are worth beyond
// their price. Nodes are whole, so that a bound is what one node costs that holds
// any of the pods, or as much as two of the cheapest. Then
//
//   - demand.go: which pods need a place, and that the groups claimed are among them;
//   - rules.go: which rules between pods count. What keeps any two of a set off one
//     node does: a port that all take, or one term of anti-affinity that all have and
//     that selects all. So does a spread that needs new nodes in several zones, of
//     those where a pool sells a place for the pods; and affinity that nobody meets
//     but the pods themselves, so that all go to one node;
//   - supply.go: what can be bought, and what is there;
//   - place.go: which pods a node may hold by itself: resources, labels, taints,
//     volumes.
//
// Wherever there is a choice the side is taken that lowers the bound, so that a
// mistake is more likely to reject a good certificate than to accept a bad one:
//
//   - a group of pods is whatever the key makes it; it needs the least that any
//     of its pods needs, may run wherever any of its pods may, and has only the
//     rules that all of them have;
//   - slots to attach volumes, minValues, limits, gangs and all other rules are
//     left out;
//   - offerings that ran out of capacity a moment ago count as for sale;
//   - a node that is ordered counts at the best of what it may become;
//   - a DaemonSet takes room only where it runs whatever value the labels get
//     that a pool leaves open.
//
// It is taken for granted that every node to come has a hostname of its own. The
// bound says what every fleet costs that carries the counted pods. That there is
// such a fleet is not for a bound to say; the plan beside it shows one.
//
// Units: money in nano-dollars an hour, resources as in package quantity.
package proof
