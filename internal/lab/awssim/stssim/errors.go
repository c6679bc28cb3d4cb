package stssim

import "errors"

// ErrNotAssumable says: the role of an instance's profile is gone or does not trust EC2.
var ErrNotAssumable = errors.New("instance role cannot be assumed")

// ErrPodRefused says: the role of a Pod Identity association is gone or does not trust EKS for the session.
var ErrPodRefused = errors.New("pod role cannot be assumed")
