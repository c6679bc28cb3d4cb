package awssim

import (
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is what the account holds and a user can make beside instances and what
// belongs to them: roles, policies and instance profiles of IAM, queues, rules of
// EventBridge, access entries of EKS, and the tags of everything in EC2. The keys are
// kind and name, such as "iam role/nodes" and "ec2 subnet-1/owner".
func (c *Cloud) Inventory() map[string]wire.Thing {
	all := map[string]wire.Thing{}
	for _, of := range []map[string]wire.Thing{c.IAM.Inventory(), c.SQS.Inventory(), c.Events.Inventory(), c.EKS.Inventory(), c.EC2.Inventory()} {
		maps.Copy(all, of)
	}
	return all
}

// Snapshot returns a function that makes everything that Inventory lists as it is now,
// with the same identities.
func (c *Cloud) Snapshot() (restore func()) {
	all := []func(){c.IAM.Snapshot(), c.SQS.Snapshot(), c.Events.Snapshot(), c.EKS.Snapshot(), c.EC2.Snapshot()}
	return func() {
		for _, one := range all {
			one()
		}
	}
}
