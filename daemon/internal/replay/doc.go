// Package replay keeps the input of a decision that panicked, so that somebody else can make the
// decision again and see it panic.
//
// A Record has what the engine was given: the objects as values, the policy, the seed and the
// part of the memory that says what was seen. None of it is an environment variable, a Secret or
// an annotation: the engine is given none. It lacks the engine's caches and an unfinished search;
// so a Record says whether its decision panicked again when it was read back.
//
// Invariants: a Record is made smaller until nothing can be taken out of it and it still panics
// at the same place, or its time is over. It is at most Most bytes. One is kept an hour at
// most, whichever daemon made it, and the loop does not wait for it.
package replay
