// Package proof checks the certificate of a lower bound (plan.Certificate), for
// readers who do not trust the engine. It shares no code with the engine. It
// starts from the raw objects, and finds out itself which pods there are, what
// can be bought and what may run where. Then it does one pass of exact integer
// arithmetic.
//
// Read check.go first; it is the argument. Take any node, however it is filled.
// The pods on it are worth at most all of its room, each resource at the highest
// price that a group of pods gives it which may run there. Suppose that no node
// for sale has room worth more than it costs. Then a fleet that carries all pods
// costs at least what the pods are worth, less what is free: the room that
// exists, and what reservations are worth beyond their price. Beside its resources, a
// pod may have a surcharge. Then the surcharges of pods that fit on the node together
// count, too. Nodes are whole.
// So the bound is raised to the price of one node that holds any of the pods, or
// to twice the price of the cheapest such node. The other files:
//
//   - demand.go: which pods need a place, and whether the claimed groups are among
//     them;
//   - rules.go: which rules between pods count. A set of pods needs a node each where
//     a rule keeps any two of them off one node: a host port that all of them take,
//     or one term of anti-affinity that all of them have and that selects all of
//     them. A spread counts where it needs pods in several zones; only zones of nodes
//     that stay, and as many zones as minDomains, count. Affinity counts where only the
//     group's own pods meet it, so that all of them go to one node;
//   - supply.go: what can be bought, and what is there; a pod that others than the
//     daemon nominated for a node has its place there, and takes its room;
//   - contents.go: which pods with a surcharge fit on a node together;
//   - place.go: which pods a node may hold by itself: resources, labels, taints,
//     volumes.
//
// Where the checker has a choice, it takes the side that lowers the bound. So a
// mistake is more likely to reject a good certificate than to accept a bad one:
//
//   - a group of pods is whatever the key makes it; it needs the least that any
//     of its pods needs, may run wherever any of its pods may, and has only the
//     rules that all of them have;
//   - slots to attach volumes, minValues, limits, gangs and all other rules are
//     left out;
//   - offerings that ran out of capacity a moment ago count as for sale;
//   - an ordered node counts as the best node that it may become;
//   - a node that does not come up counts as room: the checker knows no time, and the
//     node may come up yet;
//   - a DaemonSet takes room only where it runs for certain, whatever values the
//     new node gets for labels that its pool leaves open.
//
// The price of a new node is that of its instance and all that the node costs beside
// it: its class says what its volumes and its address cost, and the certificate says
// the NodeCost, a setting that no object has. Who checks compares it with the setting.
//
// The checker assumes that every new node has a hostname of its own. The bound
// is what every fleet costs that carries the counted pods. It does not say that
// there is such a fleet; the plan beside the certificate shows one.
//
// Units: money in nano-dollars an hour, resources as in package quantity.
package proof
