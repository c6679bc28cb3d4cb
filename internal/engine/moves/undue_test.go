package moves

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
)

// What is remembered of NodeClaims that are not due never hides one that is.
func TestOverdue_RemembersNothingThatATimeOrAChangeHasOvertaken(t *testing.T) {
	remembered := 0
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		snap, s := cluster.Snapshot{}, State{}
		for range 60 {
			var d cluster.Delta
			switch pool := (cluster.Pool{UID: "p", Name: "p", Ready: true}); rng.IntN(12) {
			case 0:
				pool.Deleting = rng.IntN(2) == 0
				pool.Static = !pool.Deleting && rng.IntN(2) == 0
				d.Put.Pools = []cluster.Pool{pool}
			case 1, 2:
				c := cluster.Claim{UID: fmt.Sprint(rng.Uint64()), Name: fmt.Sprint(rng.IntN(6)), Pool: "p", Created: now.Add(-time.Duration(rng.IntN(50)) * time.Hour)}
				if rng.IntN(2) == 0 {
					c.ExpiresAt = c.Created.Add(100 * time.Hour)
				}
				if rng.IntN(4) == 0 {
					c.Drift = &cluster.Drift{Since: now}
				}
				d.Put.Claims = []cluster.Claim{c}
			case 3:
				d.Removed.Claims = []string{fmt.Sprint(rng.IntN(6))}
			default:
			}
			var err error
			if snap, err = snap.Apply(d); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(rng.IntN(120)) * time.Minute)
			v := view.Of(snap, view.Policy{Hindrances: view.Hindrances{CloudAway: rng.IntN(3) == 0}}, now)
			if u := s.undue; u.of.Same(snap.Standing()) && (u.until.IsZero() || now.Before(u.until)) {
				remembered++
			}
			got, next := s.overdue(v)
			want, wantNext := disrupt.Overdue(v)
			if fmt.Sprint(got) != fmt.Sprint(want) || !next.Equal(wantNext) {
				t.Fatalf("seed %d: %v are due and the next at %s, want %v and %s", seed, got, next, want, wantNext)
			}
		}
	}
	if remembered == 0 {
		t.Error("nothing was ever remembered")
	}
}
