package claim

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// subnetPause is how long a subnet comes last after a launch has found no free address in it:
// as long as an offering is left out.
const subnetPause = 3 * time.Minute

// fullSubnets has the subnets in which launches found no free address. The zero value is ready.
type fullSubnets struct{ until sync.Map } // by id: time.Time

func (f *fullSubnets) note(id string, now time.Time) { f.until.Store(id, now.Add(subnetPause)) }

func (f *fullSubnets) full(id string, now time.Time) bool {
	until, noted := f.until.Load(id)
	return noted && now.Before(until.(time.Time))
}

// byRoom returns the class with its subnets in which launches can find addresses first. The
// status lists them by free addresses, and is up to a minute old.
func (c *Controller) byRoom(class *awsv1.EC2NodeClass) *awsv1.EC2NodeClass {
	full := func(s awsv1.Subnet) bool { return c.subnets.full(s.ID, c.Now()) }
	if !slices.ContainsFunc(class.Status.Subnets, full) {
		return class
	}
	sorted := *class
	sorted.Status.Subnets = slices.Concat(
		pick.Those(class.Status.Subnets, func(s awsv1.Subnet) bool { return !full(s) }), pick.Those(class.Status.Subnets, full))
	return &sorted
}

// scarce notes the subnets that are full, and returns the failures that say of an offering that
// it lacks capacity. A full subnet says so only where the class has no other one in its zone.
func (c *Controller) scarce(claim *v1.NodeClaim, failed []aws.OfferingFailure) []aws.OfferingFailure {
	for _, f := range failed {
		if f.Subnet != "" {
			c.subnets.note(f.Subnet, c.Now())
		}
	}
	class, known := c.World.EC2NodeClass(claim.Spec.NodeClassRef.Name)
	if !known {
		return failed
	}
	return pick.Those(failed, func(f aws.OfferingFailure) bool {
		return f.Subnet == "" || !slices.ContainsFunc(class.Status.Subnets, func(s awsv1.Subnet) bool {
			return s.Zone == f.Zone && !c.subnets.full(s.ID, c.Now())
		})
	})
}
