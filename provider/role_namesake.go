package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// IAM has no regions: the name of a role is taken in all of them. Two clusters of one name, in
// two regions, have the same default names of roles, and equal node roles. A new role says in
// tags whose it is, so that the configuration of one cluster never takes up the role of another.

// roleMarks are the tags that a new role has besides its own. An update leaves them alone.
func roleMarks(cluster, region string) map[string]string {
	return map[string]string{awsspec.TagClusterName: cluster, awsspec.TagRegion: region}
}

// createRole makes the role of the cluster, or finishes what was left of it, and notes it.
func (m *roleModel) createRole(ctx context.Context, client *aws.Clients, cluster string, want aws.Role, own made) error {
	marked := roleMarks(cluster, client.Region())
	maps.Copy(marked, want.Tags)
	want.Tags = marked
	role, err := client.CreateRole(ctx, want)
	role, err = aws.Finish(role, err, func() (aws.Role, error) { return client.FinishRole(ctx, want) },
		func(r aws.Role) { own.takeUp(madeRole, r.ID, fmt.Sprintf("role %q", r.Name)) })
	m.made(role, own)
	if errors.Is(err, aws.ErrConflict) {
		return whoseRole(ctx, client, cluster, want.Name, err)
	}
	return err
}

// whoseRole finds out whose role is in the way. conflict is the error without that.
func whoseRole(ctx context.Context, client *aws.Clients, cluster, name string, conflict error) error {
	e := &namesakeError{role: name, ownRegion: client.Region(), err: conflict}
	if found, err := client.GetBareRole(ctx, name); err == nil {
		e.cluster, e.region = awsspec.RoleOwner(found.Tags, found.TrustPolicy)
	}
	e.other = e.region != "" && e.region != e.ownRegion || e.cluster != "" && e.cluster != cluster
	return e
}

// readRoleTags is readTags without the marks, unless they were declared.
func readRoleTags(b *base, prior tagsModel, role aws.Role) tagsModel {
	tags := maps.Clone(role.Tags)
	for mark := range roleMarks("", "") {
		if _, ours := prior.TagsAll.Elements()[mark]; !ours {
			delete(tags, mark)
		}
	}
	return b.readTags(prior, tags)
}
