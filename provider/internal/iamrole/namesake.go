package iamrole

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// IAM has no regions: the name of a role is taken in all of them. Two clusters of one name, in
// two regions, have the same default names of roles, and equal node roles. A new role says in
// tags whose it is, so that the configuration of one cluster never takes up the role of another.

// roleMarks are the tags that a new role has besides its own. An update leaves them alone.
func roleMarks(cluster, region string) map[string]string {
	return map[string]string{awsspec.TagClusterName: cluster, awsspec.TagRegion: region}
}

// CreateRole makes the role of the cluster, or finishes what was left of it, and notes it.
func (m *Model) CreateRole(ctx context.Context, client *aws.Clients, cluster string, want aws.Role, own ownership.Record) error {
	marked := roleMarks(cluster, client.Region())
	maps.Copy(marked, want.Tags)
	want.Tags = marked
	role, err := client.CreateRole(ctx, want)
	role, err = aws.Finish(role, err, func() (aws.Role, error) { return client.FinishRole(ctx, want) },
		func(r aws.Role) { own.TakeUp(ownership.KeyRole, r.ID, fmt.Sprintf("role %q", r.Name)) })
	m.made(role, own)
	if errors.Is(err, aws.ErrConflict) {
		return whoseRole(ctx, client, cluster, want.Name, err)
	}
	return err
}

// whoseRole finds out whose role is in the way. conflict is the error without that.
func whoseRole(ctx context.Context, client *aws.Clients, cluster, name string, conflict error) error {
	e := &failure.NamesakeError{Role: name, OwnRegion: client.Region(), Err: conflict}
	if found, err := client.GetBareRole(ctx, name); err == nil {
		e.Cluster, e.Region = awsspec.RoleOwner(found.Tags, found.TrustPolicy)
	}
	e.Other = e.Region != "" && e.Region != e.OwnRegion || e.Cluster != "" && e.Cluster != cluster
	return e
}

// ReadRoleTags is ReadTags without the marks, unless they were declared.
func ReadRoleTags(b *managed.Base, prior managed.TagsModel, role aws.Role) managed.TagsModel {
	tags := maps.Clone(role.Tags)
	for mark := range roleMarks("", "") {
		if _, ours := prior.TagsAll.Elements()[mark]; !ours {
			delete(tags, mark)
		}
	}
	return b.ReadTags(prior, tags)
}
