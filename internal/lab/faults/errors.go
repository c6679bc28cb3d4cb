package faults

import "errors"

var (
	// ErrParameter says that a parameter is missing, unknown, or not of its form.
	ErrParameter = errors.New("wrong parameter")
	// ErrNone says that there is no fault of that name or id.
	ErrNone = errors.New("no such fault")
	// ErrRefused is what a client gets when the endpoint refuses a request.
	ErrRefused = errors.New("fault endpoint refuses")
)
