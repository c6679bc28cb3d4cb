package claim

import "errors"

// errReservationEnded says that the status of the class does not have the capacity
// reservation of a NodeClaim any more: no later attempt can launch into it.
var errReservationEnded = errors.New("the capacity reservation has ended, or the EC2NodeClass does not select it any more")
