package market

import "errors"

// ErrNotAsked says that AWS is not asked for a group of facts, because that would be in vain.
var ErrNotAsked = errors.New("AWS is not asked")

var (
	// errShort says that an answer has far fewer entries than the one before.
	errShort = errors.New("the answer is too short to be true")
	// errForeign says that what is kept is of another region or of another format.
	errForeign = errors.New("it is of another region or of another release of the daemon")
	// errSenseless says that a report that is kept cannot have come from a node.
	errSenseless = errors.New("it has a report without a class, an image, an instance type or an amount")
	// errTooLarge says that what is to be kept would not fit into a ConfigMap.
	errTooLarge = errors.New("it is too large for a ConfigMap")
)
