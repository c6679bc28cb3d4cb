package bound

import "errors"

// ErrForm says that a certificate is not one for this problem: numbers are
// missing or negative, or a dimension has no unit.
var ErrForm = errors.New("the certificate does not have the form of the problem")

// ErrOffer says that an offer in any number holds more worth than it costs, so
// that the prices prove nothing.
var ErrOffer = errors.New("an offer holds more worth than it costs")

// ErrBound says that the prices prove less than the certificate claims.
var ErrBound = errors.New("the prices prove less than is claimed")
