package noderole

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
)

// nodePolicies are the policies that every node needs, without those of the VPC CNI and of
// Systems Manager if they are not wanted.
func (m nodeRoleModel) nodePolicies(partition string) []string {
	all := awsspec.NodeManagedPolicyARNs(partition)
	if !m.AttachCNIPolicy.IsNull() && !m.AttachCNIPolicy.ValueBool() {
		all = fwvalue.Without(all, []string{awsspec.CNIPolicyARN(partition)})
	}
	if !m.AttachSSMPolicy.IsNull() && !m.AttachSSMPolicy.ValueBool() {
		all = fwvalue.Without(all, []string{awsspec.SSMPolicyARN(partition)})
	}
	return all
}

// role is the role that the model asks IAM for.
func (m nodeRoleModel) role(partition string) aws.Role {
	role := m.Asked()
	role.TrustPolicy, role.Tags = awsspec.NodeTrust(partition), fwvalue.StringMap(m.TagsAll)
	role.ManagedPolicies = m.WithAdditional(m.nodePolicies(partition))
	return role
}

// accessEntry is the access entry that the model asks EKS for.
func (m nodeRoleModel) accessEntry() aws.AccessEntry {
	return aws.AccessEntry{
		Cluster: m.ClusterName.ValueString(), PrincipalARN: m.ARN.ValueString(),
		Type: m.entryType(), Tags: fwvalue.StringMap(m.TagsAll),
	}
}

// noteEntry notes the access entry.
func noteEntry(own ownership.Record, principal, arn string) {
	own[madeAccessEntry], own[ownership.KeyPrincipal] = arn, principal
}

func forgetEntry(own ownership.Record) {
	delete(own, madeAccessEntry)
	delete(own, ownership.KeyPrincipal)
	delete(own, ownership.KeyFoundEntry)
}

func (r *nodeRole) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *nodeRoleModel) error {
	return plan.create(ctx, j.Client, j.Own)
}

func (r *nodeRole) Change(ctx context.Context, j managed.Job[*aws.Clients], plan *nodeRoleModel, prior nodeRoleModel) error {
	return plan.update(ctx, j.Client, prior, j.Own)
}

// Remove waits until nothing needs the role or its access entry.
func (r *nodeRole) Remove(ctx context.Context, j managed.Job[*aws.Clients], state nodeRoleModel) error {
	if j.Own[ownership.KeyRole] != "" || state.existing() && !j.Own.Nothing() {
		err := managed.AwaitUnused(ctx, j, "role "+state.Name.ValueString(), func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
			if j.Own[ownership.KeyRole]+j.Own[madeAccessEntry] == "" {
				return nil, nil // another resource has taken up all of it
			}
			return state.users(ctx, client)
		})
		if err != nil {
			return err
		}
	}
	return state.remove(ctx, j.Client, j.Own)
}

// TakeBack removes the role and its access entry at once.
func (r *nodeRole) TakeBack(ctx context.Context, j managed.Job[*aws.Clients], plan nodeRoleModel) error {
	return plan.remove(ctx, j.Client, j.Own)
}

// create makes the role and the access entry, and notes both in own. It looks at the
// cluster before it makes anything.
func (m *nodeRoleModel) create(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	if err := m.takesEntries(ctx, client); err != nil {
		return err
	}
	m.AccessEntryARN = types.StringNull()
	if m.existing() {
		return m.letIn(ctx, client, own)
	}
	want := m.role(awsspec.Partition(client.Region()))
	m.TrustPolicy, m.ManagedPolicyARNs = policydoc.PlanPolicy(m.TrustPolicy, want.TrustPolicy), fwvalue.SetValue(m.nodePolicies(awsspec.Partition(client.Region())))
	if err := m.CreateRole(ctx, client, m.ClusterName.ValueString(), want, own); err != nil {
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
		return fmt.Errorf("eks cluster %q: %w", cluster.Name, failure.ErrNoAccessEntries)
	}
	return nil
}

// letIn makes the access entry, if one is wanted. An access entry that exists already is somebody
// else's. It would not work for a new role: EKS binds an access entry to the unique
// id of its role. ErrOtherAccessEntry.
func (m *nodeRoleModel) letIn(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	if m.entryType() == "" {
		return nil
	}
	entry, err := client.CreateAccessEntry(ctx, m.accessEntry())
	entry, err = m.finishEntry(ctx, client, entry, err, own)
	if errors.Is(err, aws.ErrConflict) {
		return fmt.Errorf("%w: %w", failure.ErrOtherAccessEntry, err)
	}
	if entry.ARN != "" {
		m.AccessEntryARN = types.StringValue(entry.ARN)
		noteEntry(own, m.ARN.ValueString(), entry.ARN)
	}
	return err
}

// remove removes the access entry, then the role.
func (m *nodeRoleModel) remove(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	if err := m.shutOut(ctx, client, own); err != nil {
		return err
	}
	if id := own[ownership.KeyRole]; id != "" {
		if err := client.DeleteRole(ctx, m.Name.ValueString(), id); err != nil {
			return err
		}
		delete(own, ownership.KeyRole)
	}
	return nil
}

// shutOut removes the access entry that was made.
func (m *nodeRoleModel) shutOut(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	if own[madeAccessEntry] == "" {
		return nil
	}
	if err := client.DeleteAccessEntry(ctx, m.ClusterName.ValueString(), own[ownership.KeyPrincipal], own[madeAccessEntry]); err != nil {
		return err
	}
	forgetEntry(own)
	return nil
}

// Observe refreshes the role, its policies and the access entry. The role may be gone or
// replaced by somebody else, while our access entry still exists. It then has no ARN in
// the state, and the next apply makes it again.
func (r *nodeRole) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *nodeRoleModel) (bool, error) {
	state.importExisting()
	if state.existing() {
		tags, err := state.refreshEntry(ctx, j.Client, j.Own, j.Recorded)
		if tags != nil {
			state.TagsModel = r.ReadTags(state.TagsModel, tags)
		}
		return len(j.Own) > 0, err
	}
	found, err := iamrole.FindRole(ctx, j, state.Name.ValueString())
	if err == nil {
		state.refreshRole(found, awsspec.Partition(j.Client.Region()))
		state.FoundAttached(found, j.Own)
		var ofEntry map[string]string
		if ofEntry, err = state.refreshEntry(ctx, j.Client, j.Own, j.Recorded); ofEntry != nil {
			state.TellApart(found.Tags, ofEntry)
		}
	}
	if found.ARN != "" {
		state.TagsModel = iamrole.ReadRoleTags(&r.Base, state.TagsModel, found)
	}
	return len(j.Own) > 0, err
}

// refreshRole sets the model to the live role. A role that is gone has no ARN.
func (m *nodeRoleModel) refreshRole(found aws.Role, partition string) {
	m.Found(found)
	if found.ARN == "" {
		return
	}
	if m.AttachCNIPolicy.IsNull() { // an import, or a state of an earlier version
		m.AttachCNIPolicy = types.BoolValue(slices.Contains(found.ManagedPolicies, awsspec.CNIPolicyARN(partition)))
	}
	if m.AttachSSMPolicy.IsNull() {
		m.AttachSSMPolicy = types.BoolValue(slices.Contains(found.ManagedPolicies, awsspec.SSMPolicyARN(partition)))
	}
	m.ManagedPolicyARNs = fwvalue.SetValue(fwvalue.Intersection(m.nodePolicies(partition), found.ManagedPolicies))
}

// refreshEntry sets the model to the live access entry, and returns the entry's tags if the
// entry is ours.
func (m *nodeRoleModel) refreshEntry(ctx context.Context, client *aws.Clients, own ownership.Record, recorded bool) (map[string]string, error) {
	principal := own[ownership.KeyPrincipal]
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
		own[ownership.KeyFoundEntry] = "true"
		if m.AccessEntry.IsNull() {
			m.AccessEntry = entryObject(entry.Type)
		}
	}
	if !usable || !own.Is(madeAccessEntry, entry.ARN) {
		forgetEntry(own)
		return nil, nil
	}
	if principal == m.ARN.ValueString() {
		m.AccessEntryARN = types.StringValue(entry.ARN)
	}
	return entry.Tags, nil
}

func (m *nodeRoleModel) update(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own ownership.Record) error {
	if !m.existing() {
		if err := m.updateRole(ctx, client, prior, own); err != nil {
			return err
		}
	}
	return m.updateEntry(ctx, client, prior, own)
}

// updateRole changes the role, or makes it if it is gone.
func (m *nodeRoleModel) updateRole(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own ownership.Record) error {
	partition := awsspec.Partition(client.Region())
	want := m.role(partition)
	if own[ownership.KeyRole] == "" {
		// The access entry of the old role does not let the new role in.
		if err := m.shutOut(ctx, client, own); err != nil {
			return err
		}
		if err := m.CreateRole(ctx, client, m.ClusterName.ValueString(), want, own); err != nil {
			return err
		}
	} else {
		if err := m.ChangeRole(ctx, client, prior.role(partition), want, own); err != nil {
			return err
		}
	}
	m.TrustPolicy, m.ManagedPolicyARNs = policydoc.PlanPolicy(m.TrustPolicy, want.TrustPolicy), fwvalue.SetValue(m.nodePolicies(partition))
	return nil
}

// updateEntry changes the tags of the access entry, or makes it if it is gone or of another
// type. An entry that is no longer wanted is removed, unless it was found by an import: then
// it is left to whoever made it.
func (m *nodeRoleModel) updateEntry(ctx context.Context, client *aws.Clients, prior nodeRoleModel, own ownership.Record) error {
	m.AccessEntryARN = types.StringNull()
	if m.entryType() == "" {
		if own[ownership.KeyFoundEntry] != "" {
			forgetEntry(own)
		}
		return m.shutOut(ctx, client, own)
	}
	if m.entryType() != prior.entryType() {
		if err := m.shutOut(ctx, client, own); err != nil {
			return err
		}
	}
	if own[ownership.KeyPrincipal] == m.ARN.ValueString() {
		entry := m.accessEntry()
		entry.ARN = own[madeAccessEntry]
		m.AccessEntryARN = types.StringValue(entry.ARN)
		_, err := client.UpdateAccessEntryTags(ctx, prior.accessEntry(), entry)
		return err
	}
	return m.letIn(ctx, client, own)
}

// madeAccessEntry is the key in the record of the access entry. Its identity is its ARN, which ends in
// an id.
const madeAccessEntry = "access entry"
