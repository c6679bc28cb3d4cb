// Package topology answers where a pod may run, as far as other pods decide:
// topology spread, pod affinity, pod anti-affinity, and the anti-affinity of
// running pods.
//
// A Table is built once from a snapshot and the classes of pods that need room. Add
// then keeps it up to date while pods are given places. The Table answers for many
// pods at once: Room returns how many pods of a class may run in one place, one
// after the other.
//
// A node of the snapshot is judged by the snapshot, whatever the labels in Place
// say. A place to come is judged by its Place. Its hostname is its Name. Its domain
// takes part in the skew of a spread once the domain is offered, or once Add adds a
// pod there that the spread counts. A place without a name is a host without other
// pods, so rules over hostnames count no pod that was added there: Host returns
// what one such place may hold. Several hosts may come at once, so the least count that
// a spread over hostnames compares them with is 0.
//
// Invariants: the semantics are those of the kube-scheduler's filters
// PodTopologySpread and InterPodAffinity, version 1.36. Their peculiarities are
// included, and each is named where the code follows it. Soft constraints and
// weighted terms are ignored. A Table is not safe for concurrent use. No result
// depends on the order of a map.
package topology
