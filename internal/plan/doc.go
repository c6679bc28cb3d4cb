// Package plan holds what the decision core wants done: a list of actions from
// a closed set, and an outcome for every pod, each with typed reasons.
//
// Invariants: an action names objects by id and carries the uid that it relied
// on, so that whoever carries it out can refuse when the world has moved on;
// carrying an action out twice does no more than once. Reasons are numbers and
// names; text is made by String and Explain only.
package plan
