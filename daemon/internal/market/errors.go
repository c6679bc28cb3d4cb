package market

import "errors"

var (
	// errEmpty says that AWS has answered that it sells nothing, or has no prices.
	errEmpty = errors.New("the answer is empty")
	// errForeign says that what is kept is of another region or of another format.
	errForeign = errors.New("it is of another region or of another release of the daemon")
	// errTooLarge says that what is to be kept would not fit into a ConfigMap.
	errTooLarge = errors.New("it is too large for a ConfigMap")
)
