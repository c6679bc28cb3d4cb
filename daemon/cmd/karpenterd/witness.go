package main

import (
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/pool"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// witness is the recorder, which also tells the keeper of NodePools whether their nodes
// register, and the reconciler of classes which launches show that an instance profile is wrong.
type witness struct {
	*telemetry.Recorder

	pools         *pool.Keeper
	profileFailed func(class string)
}

// LaunchFailed is told of each launch that failed.
func (w witness) LaunchFailed(c *v1.NodeClaim, err error) {
	w.Recorder.LaunchFailed(c, err)
	if aws.OfProfile(err) {
		w.profileFailed(c.Spec.NodeClassRef.Name)
	}
}

func (w witness) Registered(c *v1.NodeClaim, node string) {
	w.Recorder.Registered(c, node)
	w.pools.Registered(c)
}

func (w witness) Deleted(c *v1.NodeClaim, d plan.Delete) {
	w.Recorder.Deleted(c, d)
	if d.Why.Traits().NeverJoined() {
		w.pools.Failed(c)
	}
}
