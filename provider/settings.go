package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
)

// settings are the configuration without null and unknown values. An empty string
// stands for an attribute that is not set.
type settings struct {
	login       credentials.Settings
	skipRegion  bool
	endpoints   map[string]string
	accounts    accountRule
	defaultTags types.Map
	ignoreTags  tagFilter

	eks              *eksAccess
	kubernetes       *kube.Access
	acceptNewCluster bool

	unknownAWS     string // first unknown attribute that the AWS clients need
	unknownCluster string // first unknown attribute that the clients of the cluster need
}

type eksAccess struct{ clusterName string }

// tagFilter matches tags that the provider leaves alone.
type tagFilter struct{ keys, prefixes []string }

// has tells whether the tag with the key is left alone.
func (f tagFilter) has(key string) bool {
	return slices.Contains(f.keys, key) || slices.ContainsFunc(f.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// without gives the tags that are not left alone.
func (f tagFilter) without(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	maps.DeleteFunc(out, func(key, _ string) bool { return f.has(key) })
	return out
}
