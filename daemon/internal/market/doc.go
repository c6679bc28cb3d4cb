// Package market keeps the daemon's catalogue alive: which instance types there are, where
// EC2 sells them, and at which prices. A Keeper asks EC2 and the Price List, lays their
// answers over the table that is compiled into the daemon, and gives the result to the world.
//
// Invariants: a question that fails changes nothing: the last answer counts, however old.
// What was answered is kept in a ConfigMap, so that a daemon that starts while AWS does not
// answer works with the last answers of the one before. Where there is no answer at all, the
// table counts, and State says so.
//
// A ReportKeeper keeps in the same ConfigMap what nodes have reported of their size, which
// plans count on where it is less than the catalogue says.
//
// The two write that ConfigMap and nothing else; the record of a decision that panicked is in it, too.
package market
