package aws

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// What instances have is asked of the instances themselves: what else tells of it may be
// deleted in the same apply. An instance counts until it is terminated: one that is stopped
// may be started again, and on one that is shutting down pods still end.

// PoolInstances returns the instances that were launched for node pools of the cluster and
// are not terminated, sorted by id.
func (c *Clients) PoolInstances(ctx context.Context, cluster string) ([]Instance, error) {
	return c.Instances(ctx, map[string]string{awsspec.TagClusterName: cluster, awsspec.TagNodePool: "*"})
}

// InstancesWithProfile returns the instances that have the instance profile with that ARN
// and are not terminated, sorted by id.
func (c *Clients) InstancesWithProfile(ctx context.Context, arn string) ([]Instance, error) {
	found, err := c.describeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("iam-instance-profile.arn"), Values: []string{arn}}, notTerminated(),
	}, MaxResults: awssdk.Int32(1000)})
	return found, wrap(err, "instances of instance profile %s list", arn)
}

// ProfileUsers are an instance profile with the instances that have it.
type ProfileUsers struct {
	InstanceProfile
	Instances []Instance
}

// RoleUsers are what needs a role. Each list is sorted.
type RoleUsers struct {
	Profiles []ProfileUsers // that have the role
	// Lost are instances of the cluster's node pools whose instance profile no longer exists.
	// Nobody can say which role they have.
	Lost []Instance
}

// None reports whether nothing needs the role.
func (u RoleUsers) None() bool { return len(u.Profiles)+len(u.Lost) == 0 }

// Count is the number of instances that have the role, or may have it.
func (u RoleUsers) Count() int {
	n := len(u.Lost)
	for _, p := range u.Profiles {
		n += len(p.Instances)
	}
	return n
}

// String names the instance profiles, and some of the instances.
func (u RoleUsers) String() string {
	var parts, named []string
	for _, p := range u.Profiles {
		named = append(named, fmt.Sprintf("%q (%s)", p.Name, InstancesText(p.Instances)))
	}
	if len(named) > 0 {
		parts = append(parts, "instance profile "+strings.Join(named, ", "))
	}
	if len(u.Lost) > 0 {
		parts = append(parts, InstancesText(u.Lost)+", whose instance profile no longer exists, so that nobody can say whether they have the role")
	}
	return strings.Join(parts, "; and by ")
}

// namedInstances is how many instances a text names.
const namedInstances = 5

// InstancesText is the number of the instances, with the ids of some.
func InstancesText(instances []Instance) string {
	var ids []string
	for _, i := range instances[:min(len(instances), namedInstances)] {
		ids = append(ids, i.ID)
	}
	text := fmt.Sprintf("%d instances", len(instances))
	if len(instances) == 1 {
		text = "1 instance"
	}
	if len(ids) > 0 {
		text += ": " + strings.Join(ids, ", ")
	}
	if more := len(instances) - len(ids); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// RoleUsers finds what needs the role: the instance profiles that have it, with all their
// instances, and the lost instances of the cluster's node pools. Error: ErrUnauthorized.
func (c *Clients) RoleUsers(ctx context.Context, cluster, role string) (RoleUsers, error) {
	profiles, err := c.profilesWith(ctx, role)
	if err != nil {
		return RoleUsers{}, err
	}
	_, lost, err := c.profilesOfPools(ctx, cluster)
	return RoleUsers{profiles, lost}, err
}

// PoolRoleUsers is RoleUsers as far as instances of the cluster's node pools tell. It makes
// no call to IAM if there are no instances. Error: ErrUnauthorized.
func (c *Clients) PoolRoleUsers(ctx context.Context, cluster, role string) (RoleUsers, error) {
	profiles, lost, err := c.profilesOfPools(ctx, cluster)
	users := RoleUsers{Lost: lost}
	for _, p := range profiles {
		if p.Role == role {
			users.Profiles = append(users.Profiles, p)
		}
	}
	return users, err
}

// profilesOfPools finds the instance profiles of the instances of the cluster's node pools,
// in the order of the instances, and the instances whose instance profile no longer exists.
func (c *Clients) profilesOfPools(ctx context.Context, cluster string) (profiles []ProfileUsers, lost []Instance, err error) {
	instances, err := c.PoolInstances(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]int{} // by ARN: the index in profiles; -1: it no longer exists
	for _, i := range instances {
		if i.ProfileARN == "" {
			continue
		}
		if _, asked := at[i.ProfileARN]; !asked {
			p, err := c.GetInstanceProfile(ctx, awsspec.RoleName(i.ProfileARN))
			switch {
			case err == nil && p.ARN == i.ProfileARN:
				at[i.ProfileARN] = len(profiles)
				profiles = append(profiles, ProfileUsers{InstanceProfile: p})
			case err == nil, errors.Is(err, ErrNotFound):
				at[i.ProfileARN] = -1
			default:
				return nil, nil, err
			}
		}
		// A profile that somebody has created again has another id, and its role is not that
		// of the instances of the former one.
		if n := at[i.ProfileARN]; n >= 0 && (i.ProfileID == "" || i.ProfileID == profiles[n].ID) {
			profiles[n].Instances = append(profiles[n].Instances, i)
			continue
		}
		lost = append(lost, i)
	}
	return profiles, lost, nil
}

// profilesWith finds the instance profiles that have the role, with their instances. A role
// that does not exist has none.
func (c *Clients) profilesWith(ctx context.Context, role string) ([]ProfileUsers, error) {
	var users []ProfileUsers
	list := iam.NewListInstanceProfilesForRolePaginator(c.iam, &iam.ListInstanceProfilesForRoleInput{RoleName: &role})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return nil, unlessGone(wrap(err, "role %q list instance profiles", role))
		}
		for _, p := range page.InstanceProfiles {
			// For some seconds IAM lists a profile that was deleted or has another role.
			live, err := c.GetInstanceProfile(ctx, awssdk.ToString(p.InstanceProfileName))
			if errors.Is(err, ErrNotFound) || err == nil && live.Role != role {
				continue
			}
			if err != nil {
				return nil, err
			}
			instances, err := c.InstancesWithProfile(ctx, live.ARN)
			if err != nil {
				return nil, err
			}
			users = append(users, ProfileUsers{live, instances})
		}
	}
	return users, nil
}

// CheckRoleUnused returns ErrInUse if instance profiles have the role. The error names
// them, and says how many instances have each.
func (c *Clients) CheckRoleUnused(ctx context.Context, name string) error {
	profiles, err := c.profilesWith(ctx, name)
	if err != nil || len(profiles) == 0 {
		return err
	}
	return fmt.Errorf("role %q: %w by %s", name, ErrInUse, RoleUsers{Profiles: profiles})
}

// RolesTrusting lists the roles with that trust policy, with name, id and time of creation
// only. A wait asks for them again and again, so IAM gives as many at a time as it can.
func (c *Clients) RolesTrusting(ctx context.Context, trust string) ([]Role, error) {
	var roles []Role
	list := iam.NewListRolesPaginator(c.iam, &iam.ListRolesInput{MaxItems: awssdk.Int32(1000)})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "roles list")
		}
		for _, r := range page.Roles {
			document, err := url.PathUnescape(awssdk.ToString(r.AssumeRolePolicyDocument))
			if err == nil && SamePolicy(document, trust) {
				roles = append(roles, Role{Name: awssdk.ToString(r.RoleName), ID: awssdk.ToString(r.RoleId), Created: awssdk.ToTime(r.CreateDate)})
			}
		}
	}
	return roles, nil
}
