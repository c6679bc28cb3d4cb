package lab

import "errors"

// ErrScratch says that the scratch directory cannot be trusted.
var ErrScratch = errors.New("the scratch directory belongs to somebody else")
