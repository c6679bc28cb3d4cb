package nodeclass

import "errors"

// errNoSSM says that SSM cannot be reached, so that the parameters of images cannot be read.
var errNoSSM = errors.New("SSM cannot be reached")
