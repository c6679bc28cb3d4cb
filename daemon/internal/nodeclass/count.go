package nodeclass

import (
	"context"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// countWithin bounds how long the first plan waits for CountReservations.
const countWithin = 5 * time.Second

// CountReservations asks EC2 how many places are left in the capacity reservations
// that the status of any class names. Call it before the first plan: without the
// counts a restarted daemon would pay for other capacity although its reservations
// have room. If EC2 does not answer, plans are made without the reservations until
// Reconcile counts them.
func (r *Reconciler) CountReservations(ctx context.Context) {
	var known []aws.ReservationSelector
	for _, class := range r.Objects.EC2NodeClasses() {
		for _, reservation := range class.Status.CapacityReservations {
			known = append(known, aws.ReservationSelector{ID: reservation.ID})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	asked := r.Now()
	found, err := r.Cloud.CapacityReservations(ctx, known)
	if err != nil {
		r.Logger.Warn("capacity reservations could not be counted; plans do not use them until they are", "error", err)
		return
	}
	r.Counted(asked, left(found))
}

// free is how many addresses of each subnet are free.
func free(subnets []aws.Subnet) map[string]int64 {
	out := make(map[string]int64, len(subnets))
	for _, s := range subnets {
		out[s.ID] = int64(s.FreeIPs)
	}
	return out
}

// left is how many more instances fit into each reservation.
func left(reservations []aws.CapacityReservation) map[string]int64 {
	out := make(map[string]int64, len(reservations))
	for _, r := range reservations {
		out[r.ID] = int64(r.Available)
	}
	return out
}
