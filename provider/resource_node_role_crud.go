package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// roleTimeout covers IAM's eventual consistency with room to spare.
const roleTimeout = 5 * time.Minute

// role is the role that the model asks IAM for.
func (m nodeRoleModel) role(partition string) aws.Role {
	return aws.Role{
		Name: m.Name.ValueString(), Path: m.Path.ValueString(),
		Description:         "Nodes launched for EKS cluster " + m.ClusterName.ValueString(),
		PermissionsBoundary: m.PermissionsBoundary.ValueString(),
		TrustPolicy:         awsspec.NodeTrust(partition),
		ManagedPolicies:     awsspec.NodeManagedPolicyARNs(partition),
		Tags:                stringMap(m.TagsAll),
	}
}

// accessEntry is the access entry that the model asks EKS for.
func (m nodeRoleModel) accessEntry() aws.AccessEntry {
	return aws.AccessEntry{
		Cluster: m.ClusterName.ValueString(), PrincipalARN: m.ARN.ValueString(),
		Type: nodeAccessEntryType, Tags: stringMap(m.TagsAll),
	}
}

// findRole reads the role. A role that is gone, or that somebody else has made, is none.
func findRole(ctx context.Context, j job[*aws.Clients], name string) (aws.Role, error) {
	found, err := j.client.GetRole(ctx, name)
	if err == nil && !j.recorded {
		j.own[madeRole] = found.ID
	}
	if errors.Is(err, aws.ErrNotFound) || err == nil && !j.own.is(madeRole, found.ID) {
		delete(j.own, madeRole)
		return aws.Role{}, nil
	}
	return found, err
}

// The keys of a node role in made, besides madeRole.
const (
	madeAccessEntry = "access entry" // its identity: its ARN, which ends in an id
	madePrincipal   = "principal"    // ARN of the role that the access entry is for
)

// noteEntry notes the access entry.
func (m made) noteEntry(principal, arn string) { m[madeAccessEntry], m[madePrincipal] = arn, principal }

func (m made) forgetEntry() {
	delete(m, madeAccessEntry)
	delete(m, madePrincipal)
}

func (r *nodeRole) create(ctx context.Context, j job[*aws.Clients], plan *nodeRoleModel) error {
	return plan.create(ctx, j.client, j.own)
}

func (r *nodeRole) update(ctx context.Context, j job[*aws.Clients], plan *nodeRoleModel, prior nodeRoleModel) error {
	return plan.update(ctx, j.client, prior, j.own)
}

func (r *nodeRole) remove(ctx context.Context, j job[*aws.Clients], state nodeRoleModel) error {
	return state.remove(ctx, j.client, j.own)
}

// create makes the role and the access entry, and notes both in own. It looks at the
// cluster before it makes anything.
func (m *nodeRoleModel) create(ctx context.Context, client *aws.Clients, own made) error {
	if err := m.takesEntries(ctx, client); err != nil {
		return err
	}
	want := m.role(awsspec.Partition(client.Region()))
	m.AccessEntryARN, m.TrustPolicy, m.ManagedPolicyARNs = types.StringNull(), planJSON(m.TrustPolicy, want.TrustPolicy), setValue(want.ManagedPolicies)
	if err := m.createRole(ctx, client, want, own); err != nil {
		return err
	}
	return m.letIn(ctx, client, own)
}

// takesEntries checks, before anything is made, that the cluster exists and uses
// access entries. ErrNoAccessEntries.
func (m *nodeRoleModel) takesEntries(ctx context.Context, client *aws.Clients) error {
	cluster, err := client.Cluster(ctx, m.ClusterName.ValueString())
	if err != nil {
		return err
	}
	if cluster.AuthenticationMode == aws.AuthenticationConfigMap {
		return fmt.Errorf("eks cluster %q: %w", cluster.Name, ErrNoAccessEntries)
	}
	return nil
}

func (m *nodeRoleModel) createRole(ctx context.Context, client *aws.Clients, want aws.Role, own made) error {
	role, err := client.CreateRole(ctx, want)
	if role.ID != "" {
		m.ARN, own[madeRole] = types.StringValue(role.ARN), role.ID
	}
	return err
}

// letIn makes the access entry. An access entry that exists already is somebody
// else's. It would not work for a new role: EKS binds an access entry to the unique
// id of its role. ErrOtherAccessEntry.
func (m *nodeRoleModel) letIn(ctx context.Context, client *aws.Clients, own made) error {
	entry, err := client.CreateAccessEntry(ctx, m.accessEntry())
	if errors.Is(err, aws.ErrConflict) {
		return fmt.Errorf("%w: %w", ErrOtherAccessEntry, err)
	}
	if entry.ARN != "" {
		m.AccessEntryARN = types.StringValue(entry.ARN)
		own.noteEntry(m.ARN.ValueString(), entry.ARN)
	}
	return err
}

// remove removes the access entry, then the role. It removes neither while instances may
// have the role: without the access entry their nodes are cut off.
func (m *nodeRoleModel) remove(ctx context.Context, client *aws.Clients, own made) error {
	if own[madeRole] != "" {
		if err := client.CheckRoleUnused(ctx, m.Name.ValueString()); errors.Is(err, aws.ErrInUse) {
			return fmt.Errorf("%w (nothing was changed): %w", ErrRoleInUse, err)
		} else if err != nil {
			return err
		}
	}
	if err := m.shutOut(ctx, client, own); err != nil {
		return err
	}
	if id := own[madeRole]; id != "" {
		if err := client.DeleteRole(ctx, m.Name.ValueString(), id); err != nil {
			return err
		}
		delete(own, madeRole)
	}
	return nil
}

// shutOut removes the access entry that was made.
func (m *nodeRoleModel) shutOut(ctx context.Context, client *aws.Clients, own made) error {
	if own[madeAccessEntry] == "" {
		return nil
	}
	if err := client.DeleteAccessEntry(ctx, m.ClusterName.ValueString(), own[madePrincipal], own[madeAccessEntry]); err != nil {
		return err
	}
	own.forgetEntry()
	return nil
}

// read refreshes the role, its policies and the access entry. The role may be gone or
// replaced by somebody else, while our access entry still exists. It then has no ARN in
// the state, and the next apply makes it again.
func (r *nodeRole) read(ctx context.Context, j job[*aws.Clients], state *nodeRoleModel) (bool, error) {
	found, err := findRole(ctx, j, state.Name.ValueString())
	if err == nil {
		err = state.refresh(ctx, j.client, found, j.own, j.recorded)
	}
	if found.ARN != "" {
		state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	}
	return len(j.own) > 0, err
}

// refresh sets the model to the live role and access entry. A role that is gone has
// no ARN.
func (m *nodeRoleModel) refresh(ctx context.Context, client *aws.Clients, found aws.Role, own made, recorded bool) error {
	m.ARN = stringOrNull(found.ARN)
	if found.ARN != "" {
		m.Path = types.StringValue(found.Path)
		m.PermissionsBoundary = stringOrNull(found.PermissionsBoundary)
		m.TrustPolicy = planJSON(m.TrustPolicy, found.TrustPolicy)
		m.ManagedPolicyARNs = setValue(intersection(found.ManagedPolicies, awsspec.NodeManagedPolicyARNs(awsspec.Partition(client.Region()))))
	}
	principal := own[madePrincipal]
	if principal == "" {
		principal = found.ARN
	}
	m.AccessEntryARN = types.StringNull()
	if principal == "" {
		return nil
	}
	entry, err := client.GetAccessEntry(ctx, m.ClusterName.ValueString(), principal)
	if err != nil && !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	usable := err == nil && entry.Type == nodeAccessEntryType
	if usable && !recorded {
		own.noteEntry(principal, entry.ARN)
	}
	if !usable || !own.is(madeAccessEntry, entry.ARN) {
		own.forgetEntry()
		return nil
	}
	if principal == found.ARN {
		m.AccessEntryARN = types.StringValue(entry.ARN)
		m.tellApart(found.Tags, entry.Tags)
	}
	return nil
}

func (m *nodeRoleModel) update(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own made) error {
	partition := awsspec.Partition(client.Region())
	want := m.role(partition)
	if own[madeRole] == "" {
		// The access entry of the old role does not let the new role in.
		if err := m.shutOut(ctx, client, own); err != nil {
			return err
		}
		if err := m.createRole(ctx, client, want, own); err != nil {
			return err
		}
	} else {
		want.ID = own[madeRole]
		role, err := client.UpdateRole(ctx, prior.role(partition), want)
		if err != nil {
			return err
		}
		m.ARN = types.StringValue(role.ARN)
	}
	m.TrustPolicy, m.ManagedPolicyARNs = planJSON(m.TrustPolicy, want.TrustPolicy), setValue(want.ManagedPolicies)
	if own[madePrincipal] == m.ARN.ValueString() {
		entry := m.accessEntry()
		entry.ARN = own[madeAccessEntry]
		m.AccessEntryARN = types.StringValue(entry.ARN)
		_, err := client.UpdateAccessEntryTags(ctx, prior.accessEntry(), entry)
		return err
	}
	return m.letIn(ctx, client, own)
}
