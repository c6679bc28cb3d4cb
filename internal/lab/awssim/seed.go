package awssim

import (
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// Credentials sign requests for a user or a role.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // empty for a user
	Expiration      time.Time // zero for a user
}

// CreateUser seeds an IAM user with AdministratorAccess and an access key, and
// returns its ARN.
func (c *Cloud) CreateUser(name string) (arn string, key Credentials) {
	k := c.IAM.SeedUser(name, iamsim.AdministratorAccess)
	return k.Identity.ARN, credentialsOf(k)
}

// CreateCluster seeds an EKS cluster and registers its issuer with IAM.
func (c *Cloud) CreateCluster(cluster ekssim.Cluster) {
	c.EKS.CreateCluster(cluster)
	if cluster.Issuer != "" {
		c.IAM.SeedOIDCProvider(cluster.Issuer)
	}
}

// DeleteCluster removes a cluster from EKS, as its owner would, with all that is in it.
func (c *Cloud) DeleteCluster(name string) { c.EKS.DeleteCluster(name) }

// InstanceCredentials are what the metadata service of an instance hands out:
// credentials of its profile's role, the session named as the instance.
func (c *Cloud) InstanceCredentials(instanceID string) (Credentials, error) {
	for _, i := range c.EC2.Instances() {
		if i.ID != instanceID {
			continue
		}
		if i.ProfileARN == "" {
			return Credentials{}, fmt.Errorf("%w: instance %s has no instance profile", ErrNoCredentials, instanceID)
		}
		// The role is the one that the profile has now: it may have changed since the launch.
		profile, err := c.IAM.Profile(i.ProfileARN)
		if err != nil {
			return Credentials{}, fmt.Errorf("%w: instance profile of %s: %w", ErrNoCredentials, instanceID, err)
		}
		if profile.RoleARN == "" {
			return Credentials{}, fmt.Errorf("%w: instance profile %s of %s has no role", ErrNoCredentials, profile.Name, instanceID)
		}
		k, err := c.STS.ForInstance(profile.RoleARN, instanceID)
		if err != nil {
			return Credentials{}, fmt.Errorf("%w: %w", ErrNoCredentials, err)
		}
		return credentialsOf(k), nil
	}
	return Credentials{}, fmt.Errorf("%w: there is no instance %s", ErrNoCredentials, instanceID)
}

func credentialsOf(k iamsim.Credential) Credentials {
	return Credentials{k.AccessKeyID, k.SecretAccessKey, k.SessionToken, k.Expiration}
}
