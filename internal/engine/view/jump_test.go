package view

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

func TestRegisteredBy_TimeThatTheClockJumpedOverDoesNotCount(t *testing.T) {
	created := time.Unix(10_000, 0)
	jumped := created.Add(time.Minute + time.Hour) // a minute later, by a clock that is an hour ahead
	var v View
	v.Policy.RegistrationTimeout = 15 * time.Minute
	v.Policy.Jumped, v.Policy.JumpedAt = time.Hour, jumped
	if left := v.RegisteredBy(cluster.Claim{Created: created, Launched: true}).Sub(jumped); left != 14*time.Minute {
		t.Errorf("a NodeClaim from before the jump has %s left, want 14m", left)
	}
	if left := v.RegisteredBy(cluster.Claim{Created: jumped, Launched: true}).Sub(jumped); left != 15*time.Minute {
		t.Errorf("a NodeClaim from after the jump has %s left, want 15m", left)
	}
}
