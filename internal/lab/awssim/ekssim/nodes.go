package ekssim

import (
	"cmp"
	"context"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Node groups, Fargate profiles and add-ons are seeded, and only read: no node follows from
// them, and no request changes them.

// NodeGroup is a managed node group.
type NodeGroup struct {
	Name              string
	Status            string // ACTIVE where empty
	CapacityType      string // ON_DEMAND where empty
	AMIType           string // AL2023_x86_64_STANDARD where empty
	InstanceTypes     []string
	SubnetIDs         []string // those of the cluster where empty
	Min, Max, Desired int
	Labels            map[string]string
	Taints            []Taint
}

// subnets are the group's own, or else those of the cluster.
func (g NodeGroup) subnets(ofCluster []string) []string {
	if len(g.SubnetIDs) > 0 {
		return slices.Clone(g.SubnetIDs)
	}
	return append([]string{}, ofCluster...)
}

// Taint has the effect as EKS spells it, such as NO_SCHEDULE.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Change changes what the laboratory says of a cluster that there is.
func (s *Service) Change(name string, change func(*Cluster)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.clusters[name].Cluster)
}

type nodeGroupOut struct {
	NodegroupName string            `json:"nodegroupName"`
	NodegroupArn  string            `json:"nodegroupArn"`
	ClusterName   string            `json:"clusterName"`
	Status        string            `json:"status"`
	CapacityType  string            `json:"capacityType"`
	ScalingConfig scalingOut        `json:"scalingConfig"`
	InstanceTypes []string          `json:"instanceTypes"`
	Subnets       []string          `json:"subnets"`
	AmiType       string            `json:"amiType"`
	Labels        map[string]string `json:"labels"`
	Taints        []Taint           `json:"taints"`
}

type scalingOut struct {
	MinSize     int `json:"minSize"`
	MaxSize     int `json:"maxSize"`
	DesiredSize int `json:"desiredSize"`
}

// groupARN ends in an id, as EKS's does. It follows from the names: a seeded group is never
// made anew.
func (s *Service) groupARN(cluster, name string) string {
	return s.arn("nodegroup", cluster+"/"+name+"/00000000-0000-0000-0000-000000000000")
}

func (s *Service) listNodeGroups(ctx context.Context, req *wire.Request) (any, error) {
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		names := []string{}
		for _, g := range c.NodeGroups {
			names = append(names, g.Name)
		}
		names, next, err := pageOfNames(req, names)
		return struct {
			Nodegroups []string `json:"nodegroups"`
			NextToken  string   `json:"nextToken,omitempty"`
		}{names, next}, err
	})
}

func (s *Service) describeNodeGroup(ctx context.Context, req *wire.Request) (any, error) {
	cluster, name := pathPart(req, 1), pathPart(req, 3)
	if err := s.allow(ctx, req, s.groupARN(cluster, name), nil, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clusters[cluster]
	if !ok {
		return nil, noCluster(cluster)
	}
	at := slices.IndexFunc(c.NodeGroups, func(g NodeGroup) bool { return g.Name == name })
	if at < 0 {
		return nil, &wire.Error{Code: "ResourceNotFoundException", Status: 404, Message: "No node group found for name: " + name + "."}
	}
	g := c.NodeGroups[at]
	return struct {
		Nodegroup nodeGroupOut `json:"nodegroup"`
	}{nodeGroupOut{
		NodegroupName: g.Name, NodegroupArn: s.groupARN(cluster, name), ClusterName: cluster, Status: cmp.Or(g.Status, "ACTIVE"), CapacityType: cmp.Or(g.CapacityType, "ON_DEMAND"),
		ScalingConfig: scalingOut{g.Min, g.Max, g.Desired}, InstanceTypes: g.InstanceTypes, Subnets: g.subnets(c.SubnetIDs),
		AmiType: cmp.Or(g.AMIType, "AL2023_x86_64_STANDARD"), Labels: g.Labels, Taints: g.Taints,
	}}, nil
}

func (s *Service) listFargateProfiles(ctx context.Context, req *wire.Request) (any, error) {
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		names, next, err := pageOfNames(req, c.FargateProfiles)
		return struct {
			FargateProfileNames []string `json:"fargateProfileNames"`
			NextToken           string   `json:"nextToken,omitempty"`
		}{names, next}, err
	})
}

func (s *Service) listAddons(ctx context.Context, req *wire.Request) (any, error) {
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		names, next, err := pageOfNames(req, c.Addons)
		return struct {
			Addons    []string `json:"addons"`
			NextToken string   `json:"nextToken,omitempty"`
		}{names, next}, err
	})
}

// pageOfNames sorts names and cuts them into pages; never nil.
func pageOfNames(req *wire.Request, names []string) ([]string, string, error) {
	names, next, err := page(req, slices.Sorted(slices.Values(names)), func(n string) string { return n })
	return append([]string{}, names...), next, err
}
