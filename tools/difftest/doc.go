// Package difftest holds the decision core's filters against the kube-scheduler's.
//
// It is a module of its own, since it links the scheduler. Random worlds, from
// seeds, are read by package translate and judged twice for each pod and node:
// by packages fit and spread, and by the scheduler's own filter plugins. Each
// plugin's verdict must be the same, and each must be refused and accepted often
// enough to mean something. Then what the core plans for such worlds is replayed
// pod by pod through all of the plugins. The simulator's model of the default
// scoring chooses among the nodes that the scheduler's own score plugins rate best.
package difftest
