// Package plan holds what the decision core wants done: a list of actions from
// a closed set, and an outcome for every pod, each with typed reasons.
//
// Invariants: an action names objects by id and carries the uid that it relied
// on, so that the daemon can refuse an action when the cluster has changed since;
// carrying an action out twice does no more than once. Reasons are numbers and
// names; only String and Explain make text of them.
package plan
