package lab

import "errors"

// ErrScratch says that the scratch directory cannot be trusted.
var ErrScratch = errors.New("the scratch directory belongs to somebody else")

// errNotRunning says that a process that a fault is about does not run.
var errNotRunning = errors.New("it does not run")
