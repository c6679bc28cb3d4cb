package aws

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// NodeGroup is a managed node group of an EKS cluster.
type NodeGroup struct {
	Name, ARN         string
	Status            string   // as EKS says it, such as ACTIVE or CREATING
	CapacityType      string   // ON_DEMAND, SPOT or CAPACITY_BLOCK
	InstanceTypes     []string // empty: the launch template has the type
	SubnetIDs         []string
	Min, Max, Desired int32
	Windows           bool // whether its nodes run Windows
	Labels            map[string]string
	Taints            []Taint
}

// Taint is a taint of the nodes of a node group, with the effect as Kubernetes spells it.
type Taint struct{ Key, Value, Effect string }

// NodeGroups returns the managed node groups of a cluster, sorted by name. One that is
// deleted meanwhile is left out. Error: ErrNotFound if the cluster does not exist.
func (c *Clients) NodeGroups(ctx context.Context, cluster string) ([]NodeGroup, error) {
	var names []string
	pages := eks.NewListNodegroupsPaginator(c.eks, &eks.ListNodegroupsInput{ClusterName: &cluster})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "node groups of cluster %q list", cluster)
		}
		names = append(names, page.Nodegroups...)
	}
	slices.Sort(names)
	var all []NodeGroup
	for _, name := range names {
		out, err := c.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
		if hasCode(err, "ResourceNotFoundException", "") {
			continue
		}
		if err != nil {
			return nil, wrap(err, "node group %q of cluster %q read", name, cluster)
		}
		all = append(all, nodeGroup(out.Nodegroup))
	}
	return all, nil
}

func nodeGroup(g *ekstypes.Nodegroup) NodeGroup {
	out := NodeGroup{
		Name: awssdk.ToString(g.NodegroupName), ARN: awssdk.ToString(g.NodegroupArn), Status: string(g.Status), CapacityType: string(g.CapacityType),
		InstanceTypes: g.InstanceTypes, SubnetIDs: g.Subnets, Labels: g.Labels,
	}
	out.Windows = strings.HasPrefix(string(g.AmiType), "WINDOWS_")
	if s := g.ScalingConfig; s != nil {
		out.Min, out.Max, out.Desired = awssdk.ToInt32(s.MinSize), awssdk.ToInt32(s.MaxSize), awssdk.ToInt32(s.DesiredSize)
	}
	effects := map[ekstypes.TaintEffect]string{
		ekstypes.TaintEffectNoSchedule: "NoSchedule", ekstypes.TaintEffectNoExecute: "NoExecute", ekstypes.TaintEffectPreferNoSchedule: "PreferNoSchedule",
	}
	for _, t := range g.Taints {
		out.Taints = append(out.Taints, Taint{Key: awssdk.ToString(t.Key), Value: awssdk.ToString(t.Value), Effect: effects[t.Effect]})
	}
	return out
}

// FargateProfiles returns the names of the Fargate profiles of a cluster. Error: ErrNotFound
// if the cluster does not exist.
func (c *Clients) FargateProfiles(ctx context.Context, cluster string) ([]string, error) {
	var names []string
	pages := eks.NewListFargateProfilesPaginator(c.eks, &eks.ListFargateProfilesInput{ClusterName: &cluster})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "fargate profiles of cluster %q list", cluster)
		}
		names = append(names, page.FargateProfileNames...)
	}
	return names, nil
}

// Addons returns the names of the add-ons of a cluster, sorted. Error: ErrNotFound if the
// cluster does not exist.
func (c *Clients) Addons(ctx context.Context, cluster string) ([]string, error) {
	var names []string
	pages := eks.NewListAddonsPaginator(c.eks, &eks.ListAddonsInput{ClusterName: &cluster})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "add-ons of cluster %q list", cluster)
		}
		names = append(names, page.Addons...)
	}
	slices.Sort(names)
	return names, nil
}
