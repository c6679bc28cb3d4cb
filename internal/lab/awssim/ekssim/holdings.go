package ekssim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// entryContent is what a user can set of an access entry; of the access policies it has the ARNs.
type entryContent struct {
	Groups   []string          `json:"groups"`
	Policies []string          `json:"policies"`
	Tags     map[string]string `json:"tags"`
	Type     string            `json:"type"`
	Username string            `json:"username"`
}

// podsContent is what a user can set of a Pod Identity association.
type podsContent struct {
	Role     string            `json:"role"`
	Tags     map[string]string `json:"tags"`
	Target   string            `json:"target"`
	Untagged bool              `json:"untagged"`
}

// Holdings are the access entries, by cluster and principal, and the Pod Identity associations,
// by cluster, namespace and service account.
func (s *Service) Holdings() wire.Holdings {
	return wire.Holdings{Lock: &s.mu, Kinds: []wire.Kind{
		wire.Map[entry, entryContent]{
			Prefix: "eks entry/", Of: &s.entries, Identity: func(e *entry) string { return e.arn }, Content: (*entry).content, Set: (*entry).set, Copy: (*entry).copy,
		},
		wire.Map[podAssociation, podsContent]{
			Prefix: "eks pods/", Of: &s.pods, Identity: func(a *podAssociation) string { return a.ID }, Content: (*podAssociation).content, Set: (*podAssociation).set, Copy: (*podAssociation).copy,
		},
	}}
}

func (e *entry) content() entryContent {
	return entryContent{append([]string{}, e.groups...), append([]string{}, e.policies...), wire.Given(e.tags), e.kind, e.username}
}

func (e *entry) set(in entryContent) error {
	for _, arn := range in.Policies {
		if !slices.Contains(policyNames(), strings.TrimPrefix(arn, policyPrefix)) {
			return fmt.Errorf("%s: no such access policy", arn)
		}
	}
	slices.Sort(in.Policies)
	e.groups, e.policies, e.tags, e.kind, e.username = in.Groups, in.Policies, in.Tags, in.Type, in.Username
	return nil
}

func (e *entry) copy() *entry {
	c := *e
	c.groups, c.tags, c.policies = slices.Clone(e.groups), maps.Clone(e.tags), slices.Clone(e.policies)
	return &c
}

func (a *podAssociation) content() podsContent {
	return podsContent{a.RoleARN, wire.Given(a.tags), a.target, a.Untagged}
}

func (a *podAssociation) set(in podsContent) error {
	a.RoleARN, a.tags, a.target, a.Untagged = in.Role, in.Tags, in.Target, in.Untagged
	return nil
}

func (a *podAssociation) copy() *podAssociation {
	c := *a
	c.tags = maps.Clone(a.tags)
	return &c
}
