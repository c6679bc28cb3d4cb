package disrupt_test

import (
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
