package proc

import "errors"

// ErrUnsupported says that this operating system cannot keep the package's promise.
var ErrUnsupported = errors.New("the laboratory needs Linux (parent-death signals, /proc and the 127.0.0.0/8 loopback network)")

// ErrClosed says that a process was asked for after the set was closed.
var ErrClosed = errors.New("the process set is closed")
