package aws

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// Leftovers are what was launched or made for the nodes of a cluster, and is still there:
// ids of instances and network interfaces, names of launch templates and instance
// profiles. Each is sorted.
type Leftovers struct {
	Instances, NetworkInterfaces, LaunchTemplates, InstanceProfiles []string
}

// None reports whether nothing is left.
func (l Leftovers) None() bool {
	return len(l.Instances)+len(l.NetworkInterfaces)+len(l.LaunchTemplates)+len(l.InstanceProfiles) == 0
}

// String names everything that is left, by kind.
func (l Leftovers) String() string {
	var parts []string
	for _, kind := range []struct {
		name string
		ids  []string
	}{
		{"instances", l.Instances}, {"network interfaces", l.NetworkInterfaces}, {"launch templates", l.LaunchTemplates}, {"instance profiles", l.InstanceProfiles},
	} {
		if len(kind.ids) > 0 {
			parts = append(parts, kind.name+" "+strings.Join(kind.ids, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Leftovers finds what is left by the tags and paths that the daemon, and Karpenter,
// give to what they make. It needs no cluster. An instance counts until it is terminated.
func (c *Clients) Leftovers(ctx context.Context, cluster string) (Leftovers, error) {
	var out Leftovers
	instances, err := c.PoolInstances(ctx, cluster)
	if err != nil {
		return out, err
	}
	for _, i := range instances {
		out.Instances = append(out.Instances, i.ID)
	}
	if out.NetworkInterfaces, err = c.networkInterfaces(ctx, map[string]string{awsspec.TagClusterName: cluster, awsspec.TagNodePool: "*"}); err != nil {
		return out, err
	}
	if out.LaunchTemplates, err = c.LaunchTemplates(ctx, map[string]string{awsspec.TagClusterName: cluster, awsspec.TagNodeClass: "*"}); err != nil {
		return out, err
	}
	profiles, err := c.InstanceProfiles(ctx, awsspec.ProfilePath(c.Region(), cluster))
	for _, p := range profiles {
		out.InstanceProfiles = append(out.InstanceProfiles, p.Name)
	}
	slices.Sort(out.InstanceProfiles)
	return out, err
}

// networkInterfaces returns the sorted ids of the network interfaces that have all of the
// tags ("*": any value).
func (c *Clients) networkInterfaces(ctx context.Context, tags map[string]string) ([]string, error) {
	var ids []string
	pages := ec2.NewDescribeNetworkInterfacesPaginator(c.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: tagFilters(tags), MaxResults: awssdk.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "network interfaces list")
		}
		for _, i := range page.NetworkInterfaces {
			ids = append(ids, awssdk.ToString(i.NetworkInterfaceId))
		}
	}
	slices.Sort(ids)
	return ids, nil
}
