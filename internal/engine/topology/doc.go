// Package topology answers what other pods have to say about where a pod may run:
// topology spread, pod affinity, pod anti-affinity, and the anti-affinity of
// pods that run already.
//
// A Table is built once of a snapshot and the classes of pods that need room,
// and then kept up to date by Add while they are given places. It answers in
// bulk: Room is how many pods of a class may follow each other onto one place.
//
// Invariants: the semantics are those of the kube-scheduler's filters
// PodTopologySpread and InterPodAffinity, version 1.36, its peculiarities
// included (each is named where it is followed); soft constraints and weighted
// terms are ignored. A Table is not safe for concurrent use. Nothing depends on
// the order of a map.
//
// Nodes of the snapshot are judged by what the snapshot says of them, whatever
// the labels in Place. A place to come is judged by its Place; its host is its
// Name, and it takes part in the skew of a spread once a pod that the spread
// counts was added to it, or its domain was offered. One without a name is a host that nobody else is on, so that rules over
// hostnames see none of what was added to it: Host says what one such place may
// hold. Hosts to come do not come alone, so over hostnames the least count that
// a spread compares them with is 0.
package topology
