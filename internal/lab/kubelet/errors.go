package kubelet

import "errors"

// errUnsupported says that a pod asks for what a local process cannot be given.
var errUnsupported = errors.New("not supported by the laboratory's kubelet")

// errImage says that no local program stands for an image.
var errImage = errors.New("image is not one that the laboratory can run")
