package ec2sim

import "errors"

// Errors of the methods that the laboratory itself calls.
var (
	// ErrNoInstance says that no instance with that id is alive.
	ErrNoInstance = errors.New("no such running instance")
	// ErrNoReservation says that no capacity reservation with that id is active.
	ErrNoReservation = errors.New("no such active capacity reservation")
	// ErrNotSpot says that the instance is not a spot instance, so that it can have no spot notice.
	ErrNotSpot = errors.New("not a spot instance")
)
