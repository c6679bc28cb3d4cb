// Package machine owns what becomes of a launch: its NodeClaim, the offerings that it may get,
// and the node that joins with the pods of DaemonSets. The simulator and the forecast share it.
//
// Invariants: pure; offerings come in the order of the class. Prices are nano-dollars an hour.
package machine
