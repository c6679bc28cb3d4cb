package drift_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
)

// Nodes of a Provisioner expire by what it says now, so that they do not drift from it.
func TestPoolHash_OfAProvisionerLeavesOutWhenNodesExpire(t *testing.T) {
	hash := func(kind string, after time.Duration) string {
		p := &v1.NodePool{}
		p.Kind = kind
		p.Spec.Template.Spec.ExpireAfter = &v1.NillableDuration{Duration: after}
		return drift.PoolHash(p)
	}
	if hash(legacy.KindProvisioner, time.Hour) != hash(legacy.KindProvisioner, time.Minute) {
		t.Error("nodes of a Provisioner drift")
	}
	if hash(v1.NodePoolKind, time.Hour) == hash(v1.NodePoolKind, time.Minute) {
		t.Error("nodes of a NodePool do not drift")
	}
}
