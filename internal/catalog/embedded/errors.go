package embedded

import "errors"

// ErrUnknownRegion is returned for a region that the embedded catalogue has no market of.
var ErrUnknownRegion = errors.New("catalogue load: no embedded data of region")
