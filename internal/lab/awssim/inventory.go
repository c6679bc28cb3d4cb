package awssim

import (
	"errors"
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

// ErrRefused says that a service would not accept such content.
var ErrRefused = errors.New("the service does not accept it")

// changeable is a service whose things somebody changes behind everybody's back.
type changeable interface {
	Inventory() map[string]wire.Thing
	Overwrite(key, content string) error
	Remove(key string) error
}

func (c *Cloud) holder(key string) (changeable, error) {
	service, _, _ := strings.Cut(key, " ")
	all := map[string]changeable{"iam": c.IAM, "sqs": c.SQS, "events": c.Events, "eks": c.EKS, "ec2": c.EC2}
	if of := all[service]; of != nil {
		if _, there := of.Inventory()[key]; there {
			return of, nil
		}
	}
	return nil, fmt.Errorf("%s: not in the inventory", key)
}

// Overwrite gives a thing of the inventory other content at once, without a call that somebody would
// have to be allowed. ErrRefused.
func (c *Cloud) Overwrite(key, content string) error {
	of, err := c.holder(key)
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
	of, err := c.holder(key)
	if err != nil {
		return err
	}
	return of.Remove(key)
}
