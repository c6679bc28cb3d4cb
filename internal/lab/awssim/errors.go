package awssim

import "errors"

// ErrOptions: New was called with options that make no cloud.
var ErrOptions = errors.New("invalid options")
