package awssim

import (
	"fmt"
	"maps"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is what the account holds and a user can make beside instances and what
// belongs to them: roles, policies and instance profiles of IAM, queues, rules of
// EventBridge, access entries and Pod Identity associations of EKS, and the tags of everything
// in EC2. The keys are kind and name, such as "iam role/nodes" and "ec2 subnet-1/owner".
func (c *Cloud) Inventory() map[string]wire.Thing {
	all := map[string]wire.Thing{}
	for _, of := range c.holdings() {
		maps.Copy(all, of.Inventory())
	}
	return all
}

// Snapshot returns a function that makes everything that Inventory lists as it is now,
// with the same identities.
func (c *Cloud) Snapshot() (restore func()) {
	var all []func()
	for _, of := range c.holdings() {
		all = append(all, of.Snapshot())
	}
	return func() {
		for _, one := range all {
			one()
		}
	}
}

// holdings are by what the keys begin with.
func (c *Cloud) holdings() map[string]wire.Holdings {
	return map[string]wire.Holdings{"iam": c.IAM.Holdings(), "sqs": c.SQS.Holdings(), "events": c.Events.Holdings(), "eks": c.EKS.Holdings(), "ec2": c.EC2.Holdings()}
}

// holding is what the service of the key holds.
func (c *Cloud) holding(key string) (wire.Holdings, error) {
	service, _, _ := strings.Cut(key, " ")
	if of, there := c.holdings()[service]; there {
		if _, there := of.Inventory()[key]; there {
			return of, nil
		}
	}
	return wire.Holdings{}, fmt.Errorf("%s: not in the inventory", key)
}

// Overwrite gives a thing of the inventory other content at once, without a call that somebody would
// have to be allowed. ErrRefused.
func (c *Cloud) Overwrite(key, content string) error {
	of, err := c.holding(key)
	if err != nil {
		return err
	}
	if err := of.Overwrite(key, content); err != nil {
		return fmt.Errorf("%s: %w: %w", key, ErrRefused, err)
	}
	return nil
}

// Remove removes a thing of the inventory in this way, with what the service would ask to be
// removed first.
func (c *Cloud) Remove(key string) error {
	of, err := c.holding(key)
	if err != nil {
		return err
	}
	return of.Remove(key)
}
