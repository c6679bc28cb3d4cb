package stssim

import "errors"

// ErrNotAssumable says: the role of an instance's profile is gone or does not trust EC2.
var ErrNotAssumable = errors.New("instance role cannot be assumed")
