package embedded

import "errors"

// ErrUnknownRegion says that the embedded catalogue has no market of the region.
var ErrUnknownRegion = errors.New("catalogue load: no embedded data of region")
