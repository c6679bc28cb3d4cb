// Package proc owns the laboratory's child processes: it starts them, logs
// them, stops them in order, and makes sure that none outlives the laboratory.
//
// Three things keep that promise. A process is stopped by its own handle. The
// kernel kills it when the laboratory dies without a chance to tidy up
// (PR_SET_PDEATHSIG). And a state file in the scratch directory names every
// child by process id and start time, so that the next start can sweep what a
// crash left; a process whose start time differs is a stranger and is left
// alone.
//
// The laboratory runs on Linux only; elsewhere every call answers
// ErrUnsupported.
package proc
