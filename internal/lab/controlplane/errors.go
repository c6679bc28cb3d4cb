package controlplane

import "errors"

// ErrExited says that a component ended before it was ready.
var ErrExited = errors.New("the process ended before it was ready")

// errRestarting says that a restart has not ended yet.
var errRestarting = errors.New("another restart has not ended")

// errPortTaken says that another process took the port between our picking it
// and the component's binding to it: start again with another one.
var errPortTaken = errors.New("the port was taken meanwhile")
