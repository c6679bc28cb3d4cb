package claim

import "errors"

// errReservationEnded says that the capacity reservation of a NodeClaim is none
// that its class has any more: no later attempt will launch into it.
var errReservationEnded = errors.New("the capacity reservation has ended, or the EC2NodeClass selects it no more")
