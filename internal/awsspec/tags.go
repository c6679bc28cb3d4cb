package awsspec

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Tags of what the product makes in AWS.
const (
	TagClusterPrefix = "kubernetes.io/cluster/" // followed by the cluster's name; value TagOwned
	TagOwned         = "owned"
	TagClusterName   = "eks:eks-cluster-name"
	TagNodePool      = "karpenter.sh/nodepool"
	TagNodeClass     = "karpenter.k8s.aws/ec2nodeclass"
	TagNodeClaim     = "karpenter.sh/nodeclaim"
	TagNodeClaimUID  = "karpenterd.sh/nodeclaim-uid"
	TagDiscovery     = "karpenter.sh/discovery"        // value: the cluster's name
	TagRegion        = "topology.kubernetes.io/region" // of instance profiles: IAM has no regions
	TagName          = "Name"
)

// Owner says for what launch templates, fleets, volumes and network interfaces are made.
type Owner struct {
	Cluster, NodePool, NodeClass string
}

// Tags returns the tags of the user and of the owner; the owner's win.
func (o Owner) Tags(user map[string]string) map[string]string {
	tags := maps.Clone(user)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[TagClusterPrefix+o.Cluster] = TagOwned
	tags[TagClusterName] = o.Cluster
	tags[TagNodePool] = o.NodePool
	tags[TagNodeClass] = o.NodeClass
	return tags
}

// InstanceTags returns the tags that an instance gets at its launch: those of Tags, and
// those of the NodeClaim. By the uid of the NodeClaim an instance is found whose launch
// was not recorded.
func (o Owner) InstanceTags(user map[string]string, nodeClaim, uid string) map[string]string {
	tags := o.Tags(user)
	tags[TagNodeClaim] = nodeClaim
	tags[TagNodeClaimUID] = uid
	return tags
}

// LaunchedFor reports whether an instance with these tags was launched for a NodeClaim of
// the cluster, by the daemon or by Karpenter. Karpenter's instances lack TagNodeClaimUID,
// and TagNodeClaim until their node has joined. Instances of Karpenter's alpha generation
// (tag karpenter.sh/provisioner-name) and of node groups lack TagNodePool, too.
func LaunchedFor(cluster string, tags map[string]string) bool {
	_, pooled := tags[TagNodePool]
	return pooled && tags[TagClusterName] == cluster && tags[TagClusterPrefix+cluster] == TagOwned && tags[TagNodeClass] != ""
}

// RoleOwner returns the cluster and the region that a role serves, by its tags and its trust
// policy; "" for what they do not tell.
func RoleOwner(tags map[string]string, trust string) (cluster, region string) {
	cluster, region = tags[TagClusterName], tags[TagRegion]
	if found := regexp.MustCompile(`:eks:([a-z0-9-]+):[0-9]{12}:cluster/([0-9A-Za-z_-]+)`).FindStringSubmatch(trust); found != nil {
		region, cluster = cmp.Or(region, found[1]), cmp.Or(cluster, found[2])
	}
	if found := regexp.MustCompile(`/oidc\.eks\.([a-z0-9-]+)\.`).FindStringSubmatch(trust); found != nil {
		region = cmp.Or(region, found[1])
	}
	return cluster, region
}

// reservedTag reports whether only the product may set the tag.
func reservedTag(key string) bool {
	return strings.HasPrefix(key, strings.TrimSuffix(TagClusterPrefix, "/")) || strings.HasPrefix(key, "karpenterd.sh/") ||
		slices.Contains([]string{TagClusterName, TagNodePool, TagNodeClass, TagNodeClaim}, key)
}
