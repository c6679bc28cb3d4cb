package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// nodePolicies are the policies that every node needs, without those of the VPC CNI and of
// Systems Manager if they are not wanted.
func (m nodeRoleModel) nodePolicies(partition string) []string {
	all := awsspec.NodeManagedPolicyARNs(partition)
	if !m.AttachCNIPolicy.IsNull() && !m.AttachCNIPolicy.ValueBool() {
		all = without(all, []string{awsspec.CNIPolicyARN(partition)})
	}
	if !m.AttachSSMPolicy.IsNull() && !m.AttachSSMPolicy.ValueBool() {
		all = without(all, []string{awsspec.SSMPolicyARN(partition)})
	}
	return all
}

// role is the role that the model asks IAM for.
func (m nodeRoleModel) role(partition string) aws.Role {
	role := m.asked()
	role.TrustPolicy, role.Tags = awsspec.NodeTrust(partition), stringMap(m.TagsAll)
	role.ManagedPolicies = m.withAdditional(m.nodePolicies(partition))
	return role
}

// accessEntry is the access entry that the model asks EKS for.
func (m nodeRoleModel) accessEntry() aws.AccessEntry {
	return aws.AccessEntry{
		Cluster: m.ClusterName.ValueString(), PrincipalARN: m.ARN.ValueString(),
		Type: m.entryType(), Tags: stringMap(m.TagsAll),
	}
}

// noteEntry notes the access entry.
func noteEntry(own made, principal, arn string) {
	own[madeAccessEntry], own[madePrincipal] = arn, principal
}

func forgetEntry(own made) {
	delete(own, madeAccessEntry)
	delete(own, madePrincipal)
	delete(own, foundEntry)
}

func (r *nodeRole) create(ctx context.Context, j job[*aws.Clients], plan *nodeRoleModel) error {
	return plan.create(ctx, j.client, j.own)
}

func (r *nodeRole) update(ctx context.Context, j job[*aws.Clients], plan *nodeRoleModel, prior nodeRoleModel) error {
	return plan.update(ctx, j.client, prior, j.own)
}

// remove waits until nothing needs the role or its access entry.
func (r *nodeRole) remove(ctx context.Context, j job[*aws.Clients], state nodeRoleModel) error {
	if j.own[madeRole] != "" || state.existing() && !j.own.nothing() {
		err := awaitUnused(ctx, j, "role "+state.Name.ValueString(), func(ctx context.Context, client *aws.Clients) (*need, error) {
			if j.own[madeRole]+j.own[madeAccessEntry] == "" {
				return nil, nil // another resource has taken up all of it
			}
			return state.users(ctx, client)
		})
		if err != nil {
			return err
		}
	}
	return state.remove(ctx, j.client, j.own)
}

// takeBack removes the role and its access entry at once.
func (r *nodeRole) takeBack(ctx context.Context, j job[*aws.Clients], plan nodeRoleModel) error {
	return plan.remove(ctx, j.client, j.own)
}

// create makes the role and the access entry, and notes both in own. It looks at the
// cluster before it makes anything.
func (m *nodeRoleModel) create(ctx context.Context, client *aws.Clients, own made) error {
	if err := m.takesEntries(ctx, client); err != nil {
		return err
	}
	m.AccessEntryARN = types.StringNull()
	if m.existing() {
		return m.letIn(ctx, client, own)
	}
	want := m.role(awsspec.Partition(client.Region()))
	m.TrustPolicy, m.ManagedPolicyARNs = planPolicy(m.TrustPolicy, want.TrustPolicy), setValue(m.nodePolicies(awsspec.Partition(client.Region())))
	if err := m.createRole(ctx, client, m.ClusterName.ValueString(), want, own); err != nil {
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
	if m.entryType() != "" && cluster.AuthenticationMode == aws.AuthenticationConfigMap {
		return fmt.Errorf("eks cluster %q: %w", cluster.Name, ErrNoAccessEntries)
	}
	return nil
}

// letIn makes the access entry, if one is wanted. An access entry that exists already is somebody
// else's. It would not work for a new role: EKS binds an access entry to the unique
// id of its role. ErrOtherAccessEntry.
func (m *nodeRoleModel) letIn(ctx context.Context, client *aws.Clients, own made) error {
	if m.entryType() == "" {
		return nil
	}
	entry, err := client.CreateAccessEntry(ctx, m.accessEntry())
	entry, err = m.finishEntry(ctx, client, entry, err, own)
	if errors.Is(err, aws.ErrConflict) {
		return fmt.Errorf("%w: %w", ErrOtherAccessEntry, err)
	}
	if entry.ARN != "" {
		m.AccessEntryARN = types.StringValue(entry.ARN)
		noteEntry(own, m.ARN.ValueString(), entry.ARN)
	}
	return err
}

// remove removes the access entry, then the role.
func (m *nodeRoleModel) remove(ctx context.Context, client *aws.Clients, own made) error {
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
	forgetEntry(own)
	return nil
}

// read refreshes the role, its policies and the access entry. The role may be gone or
// replaced by somebody else, while our access entry still exists. It then has no ARN in
// the state, and the next apply makes it again.
func (r *nodeRole) read(ctx context.Context, j job[*aws.Clients], state *nodeRoleModel) (bool, error) {
	state.importExisting()
	if state.existing() {
		tags, err := state.refreshEntry(ctx, j.client, j.own, j.recorded)
		if tags != nil {
			state.tagsModel = r.readTags(state.tagsModel, tags)
		}
		return len(j.own) > 0, err
	}
	found, err := findRole(ctx, j, state.Name.ValueString())
	if err == nil {
		state.refreshRole(found, awsspec.Partition(j.client.Region()))
		state.foundAttached(found, j.own)
		var ofEntry map[string]string
		if ofEntry, err = state.refreshEntry(ctx, j.client, j.own, j.recorded); ofEntry != nil {
			state.tellApart(found.Tags, ofEntry)
		}
	}
	if found.ARN != "" {
		state.tagsModel = readRoleTags(&r.base, state.tagsModel, found)
	}
	return len(j.own) > 0, err
}

// refreshRole sets the model to the live role. A role that is gone has no ARN.
func (m *nodeRoleModel) refreshRole(found aws.Role, partition string) {
	m.found(found)
	if found.ARN == "" {
		return
	}
	if m.AttachCNIPolicy.IsNull() { // an import, or a state of an earlier version
		m.AttachCNIPolicy = types.BoolValue(slices.Contains(found.ManagedPolicies, awsspec.CNIPolicyARN(partition)))
	}
	if m.AttachSSMPolicy.IsNull() {
		m.AttachSSMPolicy = types.BoolValue(slices.Contains(found.ManagedPolicies, awsspec.SSMPolicyARN(partition)))
	}
	m.ManagedPolicyARNs = setValue(intersection(m.nodePolicies(partition), found.ManagedPolicies))
}

// refreshEntry sets the model to the live access entry, and returns the entry's tags if the
// entry is ours.
func (m *nodeRoleModel) refreshEntry(ctx context.Context, client *aws.Clients, own made, recorded bool) (map[string]string, error) {
	principal := own[madePrincipal]
	if principal == "" {
		principal = m.ARN.ValueString()
	}
	m.AccessEntryARN = types.StringNull()
	if principal == "" {
		return nil, nil
	}
	if recorded && own[madeAccessEntry] == "" {
		return nil, nil // somebody else's, if there is one
	}
	entry, err := client.GetAccessEntry(ctx, m.ClusterName.ValueString(), principal)
	if err != nil && !errors.Is(err, aws.ErrNotFound) {
		return nil, err
	}
	usable := err == nil && slices.Contains(nodeEntryTypes(), entry.Type)
	if usable && !recorded && m.entryType() != "" {
		noteEntry(own, principal, entry.ARN)
		own[foundEntry] = "true"
		if m.AccessEntry.IsNull() {
			m.AccessEntry = entryObject(entry.Type)
		}
	}
	if !usable || !own.is(madeAccessEntry, entry.ARN) {
		forgetEntry(own)
		return nil, nil
	}
	if principal == m.ARN.ValueString() {
		m.AccessEntryARN = types.StringValue(entry.ARN)
	}
	return entry.Tags, nil
}

func (m *nodeRoleModel) update(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own made) error {
	if !m.existing() {
		if err := m.updateRole(ctx, client, prior, own); err != nil {
			return err
		}
	}
	return m.updateEntry(ctx, client, prior, own)
}

// updateRole changes the role, or makes it if it is gone.
func (m *nodeRoleModel) updateRole(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own made) error {
	partition := awsspec.Partition(client.Region())
	want := m.role(partition)
	if own[madeRole] == "" {
		// The access entry of the old role does not let the new role in.
		if err := m.shutOut(ctx, client, own); err != nil {
			return err
		}
		if err := m.createRole(ctx, client, m.ClusterName.ValueString(), want, own); err != nil {
			return err
		}
	} else {
		if err := m.change(ctx, client, prior.role(partition), want, own); err != nil {
			return err
		}
	}
	m.TrustPolicy, m.ManagedPolicyARNs = planPolicy(m.TrustPolicy, want.TrustPolicy), setValue(m.nodePolicies(partition))
	return nil
}

// updateEntry changes the tags of the access entry, or makes it if it is gone or of another
// type. An entry that is no longer wanted is removed, unless it was found by an import: then
// it is left to whoever made it.
func (m *nodeRoleModel) updateEntry(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own made) error {
	m.AccessEntryARN = types.StringNull()
	if m.entryType() == "" {
		if own[foundEntry] != "" {
			forgetEntry(own)
		}
		return m.shutOut(ctx, client, own)
	}
	if m.entryType() != prior.entryType() {
		if err := m.shutOut(ctx, client, own); err != nil {
			return err
		}
	}
	if own[madePrincipal] == m.ARN.ValueString() {
		entry := m.accessEntry()
		entry.ARN = own[madeAccessEntry]
		m.AccessEntryARN = types.StringValue(entry.ARN)
		_, err := client.UpdateAccessEntryTags(ctx, prior.accessEntry(), entry)
		return err
	}
	return m.letIn(ctx, client, own)
}

// madeAccessEntry is the key in made of the access entry. Its identity is its ARN, which ends in
// an id.
const madeAccessEntry = "access entry"
