package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
)

// Settings are the configuration without null and unknown values. An empty string
// stands for an attribute that is not set.
type Settings struct {
	Login       credentials.Settings
	SkipRegion  bool
	Endpoints   map[string]string
	Accounts    AccountRule
	DefaultTags types.Map
	IgnoreTags  TagFilter

	EKS              *EKSAccess
	Kubernetes       *kube.Access
	AcceptNewCluster bool

	UnknownAWS     string // first unknown attribute that the AWS clients need
	UnknownCluster string // first unknown attribute that the clients of the cluster need
}

// EKSAccess says that the cluster is reached through EKS.
type EKSAccess struct{ ClusterName string }

// TagFilter matches tags that the provider leaves alone.
type TagFilter struct{ Keys, Prefixes []string }

// Has tells whether the tag with the key is left alone.
func (f TagFilter) Has(key string) bool {
	return slices.Contains(f.Keys, key) || slices.ContainsFunc(f.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Without gives the tags that are not left alone.
func (f TagFilter) Without(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	maps.DeleteFunc(out, func(key, _ string) bool { return f.Has(key) })
	return out
}
