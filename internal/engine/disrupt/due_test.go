package disrupt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The names of the NodeClaims are in the opposite order.
func TestOverdue_SurplusComesFirstThenDeletedPoolsThenExpiryThenDrift(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	claim := func(name, pool string, change func(*cluster.Claim)) cluster.Claim {
		c := cluster.Claim{UID: name, Name: name, Pool: pool, Created: now.Add(-time.Hour)}
		change(&c)
		return c
	}
	drifted := func(ago time.Duration) func(*cluster.Claim) {
		return func(c *cluster.Claim) { c.Drift = &cluster.Drift{Since: now.Add(-ago)} }
	}
	created := func(ago time.Duration) func(*cluster.Claim) {
		return func(c *cluster.Claim) { c.Created = now.Add(-ago) }
	}
	expired := func(ago time.Duration) func(*cluster.Claim) {
		return func(c *cluster.Claim) { c.ExpiresAt = now.Add(-ago) }
	}
	snap, err := cluster.New(cluster.Objects{
		Pools: []cluster.Pool{
			{UID: "p", Name: "p", Ready: true}, {UID: "d", Name: "deleted", Deleting: true}, {UID: "s", Name: "static", Ready: true, Static: true},
		},
		Claims: []cluster.Claim{
			claim("a", "p", drifted(time.Minute)), claim("b", "p", drifted(time.Hour)),
			claim("c", "p", expired(time.Minute)), claim("d", "p", expired(2*time.Minute)),
			claim("e", "deleted", created(time.Hour)), claim("f", "deleted", created(2*time.Hour)),
			claim("g", "static", created(time.Minute)), claim("z", "p", func(*cluster.Claim) {}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := disrupt.Overdue(view.Of(snap, view.Policy{}, now))
	var got []string
	var whys []plan.DeleteReason
	for _, d := range list {
		got = append(got, d.Claim.Name)
		if len(whys) == 0 || whys[len(whys)-1] != d.Why {
			whys = append(whys, d.Why)
		}
	}
	if want := []string{"g", "f", "e", "d", "c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	if want := []plan.DeleteReason{plan.Surplus, plan.PoolDeleted, plan.Expired, plan.Drifted}; !slices.Equal(whys, want) {
		t.Errorf("the order of reasons is %q, want %q", whys, want)
	}
	for _, why := range whys {
		if why.Traits().Precedence == 0 {
			t.Errorf("nodes are due for %s, which has no precedence", why)
		}
	}
}

// Which NodeClaims are due, and when the next one will be, is what each one's own time says, in
// whatever order they come.
func TestOverdue_TheNextExpiryIsTheEarliestOfAllThatAreToCome(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var claims []cluster.Claim
		var want time.Time
		due := 0
		for i := range rng.IntN(20) {
			c := cluster.Claim{UID: fmt.Sprint(rng.Uint64()), Name: fmt.Sprint(i), Pool: "p", Created: now.Add(-time.Duration(rng.Int64N(int64(30 * time.Hour))))}
			if rng.IntN(4) > 0 {
				c.ExpiresAt = c.Created.Add(time.Duration(1 + rng.Int64N(int64(40*time.Hour))))
			}
			claims = append(claims, c)
			begins := view.ExpiresFrom(&c)
			if !begins.IsZero() && !now.Before(begins) {
				due++
			}
			for _, at := range []time.Time{begins, c.ExpiresAt} {
				if now.Before(at) && (want.IsZero() || at.Before(want)) {
					want = at
				}
			}
		}
		snap, err := cluster.New(cluster.Objects{Pools: []cluster.Pool{{UID: "p", Name: "p", Ready: true}}, Claims: claims})
		if err != nil {
			t.Fatal(err)
		}
		list, next := disrupt.Overdue(view.Of(snap, view.Policy{}, now))
		if !next.Equal(want) || len(list) != due {
			t.Fatalf("%d are due and the next expires at %s, want %d and %s: %+v", len(list), next, due, want, claims)
		}
	}
}
