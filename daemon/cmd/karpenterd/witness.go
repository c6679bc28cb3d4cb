package main

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/pool"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// witness is the recorder, which also tells the keeper of NodePools whether their nodes
// register, the reconciler of classes which launches show that an instance profile is wrong, and the
// page what was done.
type witness struct {
	*telemetry.Recorder

	pools         *pool.Keeper
	profileFailed func(class string)
	page          *page.Page
}

// LaunchFailed is told of each launch that failed.
func (w witness) LaunchFailed(c *v1.NodeClaim, err error) {
	w.Recorder.LaunchFailed(c, err)
	w.page.LaunchFailed(c.Name, c.Labels[v1.LabelNodePool], err.Error(), time.Now())
	if aws.OfProfile(err) {
		w.profileFailed(c.Spec.NodeClassRef.Name)
	}
}

// Created is told of each NodeClaim that was created.
func (w witness) Created(l plan.Launch) {
	w.Recorder.Created(l)
	w.page.Launched(l, time.Now())
}

func (w witness) Registered(c *v1.NodeClaim, node string) {
	w.Recorder.Registered(c, node)
	w.pools.Registered(c)
}

func (w witness) Deleted(c *v1.NodeClaim, d plan.Delete) {
	w.Recorder.Deleted(c, d)
	w.page.Deleted(d, time.Now())
	if d.Why.Traits().NeverJoined() {
		w.pools.Failed(c)
	}
}

// Kept is told that a NodeClaim that was to be deleted stays for now.
func (w witness) Kept(d plan.Delete, why string) {
	w.Recorder.Kept(d, why)
	w.page.Kept(d, why, time.Now())
}

// Interrupted is told that EC2 will take the instance of the NodeClaim.
func (w witness) Interrupted(c *v1.NodeClaim, kind string, deadline time.Time) {
	w.Recorder.Interrupted(c, kind, deadline)
	w.page.Interrupted(c.Name, kind, deadline, time.Now())
}
