package main

import (
	"context"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/interruption"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/nodeclass"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// classes makes what keeps the status of EC2NodeClasses.
func (d *daemon) classes() *nodeclass.Reconciler {
	return nodeclass.New(nodeclass.Config{
		Node: awsspec.NodeConfig{
			ClusterName: d.cluster.Name, APIServerEndpoint: d.cluster.Endpoint,
			CertificateAuthority: d.cluster.CertificateAuthority, ServiceCIDR: d.cluster.ServiceCIDR,
		},
		Kubernetes: d.minor, Cloud: d.aws, Objects: classObjects{d.world}, Writer: d.kube.EC2NodeClasses,
		Logger: d.logger.Named("ec2nodeclass"), Now: time.Now, Counted: d.world.ReservationsCounted,
	})
}

// countPatience is how long the first plan waits for what is left in capacity
// reservations.
const countPatience = 5 * time.Second

// countReservations asks what is left in those that classes are known to have, so
// that the first plan of a daemon that starts anew does not pay for other
// capacity beside them.
func (d *daemon) countReservations(ctx context.Context) {
	var known []aws.ReservationSelector
	for _, c := range d.world.EC2NodeClasses() {
		for _, r := range c.Status.CapacityReservations {
			known = append(known, aws.ReservationSelector{ID: r.ID})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, countPatience)
	defer cancel()
	asked := time.Now()
	found, err := d.aws.CapacityReservations(ctx, known)
	if err != nil {
		d.logger.Warn("not known yet what is left in capacity reservations: plans are made without them", "error", err)
		return
	}
	left := map[string]int64{}
	for _, r := range found {
		left[r.ID] = int64(r.Available)
	}
	d.world.ReservationsCounted(asked, left)
}

// classObjects shows the world as package nodeclass wants to see it.
type classObjects struct{ *world.World }

// EC2NodeClass returns the class, or nil.
func (o classObjects) EC2NodeClass(name string) *awsv1.EC2NodeClass {
	c, _ := o.World.EC2NodeClass(name)
	return c
}

// NodeClaimsOf names the NodeClaims that refer to the class.
func (o classObjects) NodeClaimsOf(class string) []string {
	var names []string
	for _, c := range o.NodeClaims() {
		if c.Spec.NodeClassRef.Name == class {
			names = append(names, c.Name)
		}
	}
	return names
}

// interruptions makes what listens to the queue; without a queue it has nothing
// to do.
func (d *daemon) interruptions(r *telemetry.Recorder) interface{ Run(context.Context) } {
	if d.config.Queue == "" {
		d.logger.Warn("no interruption queue is configured: interruptions are not heard of")
		return idle{}
	}
	return &interruption.Listener{
		Queue: d.aws, Name: d.config.Queue, Count: d.metrics.Message, Logger: d.logger.Named("interruption"),
		Handle: (&interruption.Marker{
			World: d.world, Claims: d.kube.NodeClaims, Told: r.Interrupted, Logger: d.logger, Now: time.Now,
		}).Handle,
	}
}

type idle struct{}

func (idle) Run(context.Context) {}
