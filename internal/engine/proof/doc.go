// Package proof checks the certificate of a lower bound (plan.Certificate), for
// whoever does not believe the engine.
//
// It shares no code with the engine: it starts from the raw objects, finds out
// itself which pods there are, what can be bought and what may run where, and
// then does one pass of exact integer arithmetic. Wherever it has to choose, it
// takes the side that lowers the bound, so that a mistake in it is more likely
// to reject a good certificate than to accept a bad one:
//
//   - a group of pods is whatever the key makes it; it needs the least that any
//     of its pods needs, and may run wherever any of its pods may;
//   - only hard rules that a pod and a place decide between themselves count:
//     resources, labels, taints, volumes. Of those between pods few do (rules.go):
//     what keeps any two of a set off one node, which is a port that all take, or
//     one term of anti-affinity that all have and that selects all; a spread that
//     needs new nodes in several zones, of those where a pool sells a place for the
//     pods; and affinity that nobody meets but the pods themselves, so that all go
//     to one node. Slots to attach volumes, minValues, limits, gangs and all other
//     rules are left out;
//   - a node costs all of its price, so that a bound is what one node costs that
//     holds any of the pods, or as much as two of the cheapest;
//   - offerings that ran out of capacity a moment ago count as for sale;
//   - a node that is ordered counts at the best of what it may become;
//   - a DaemonSet takes room only where it runs whatever value the labels get
//     that a pool leaves open.
//
// The bound says what every fleet costs that carries the counted pods. That
// there is such a fleet is not for a bound to say; the plan beside it shows one.
//
// Units: money in nano-dollars an hour, resources as in package quantity.
package proof
