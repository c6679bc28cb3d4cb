package judge

import "errors"

var (
	// ErrMissing: something that must be installed on the machine is not.
	ErrMissing = errors.New("missing prerequisite")
	// ErrServer: the other implementation did not start.
	ErrServer = errors.New("server did not start")
)
