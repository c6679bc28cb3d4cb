package machine

import "errors"

// ErrUserData says that the user data cannot be booted from; a machine does
// not get past it, as nodeadm runs once.
var ErrUserData = errors.New("user data is not usable")
