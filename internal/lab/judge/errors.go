package judge

import "errors"

var (
	// ErrMissing says that something that must be installed on the machine is not.
	ErrMissing = errors.New("missing prerequisite")
	// ErrServer says that the other implementation did not start.
	ErrServer = errors.New("server did not start")
)
