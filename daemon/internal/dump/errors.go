package dump

import "errors"

// errEnough ends the reading of fields.
var errEnough = errors.New("enough fields were read")

// errNoJSON is a character that JSON does not have in its place.
var errNoJSON = errors.New("a character is out of place")
