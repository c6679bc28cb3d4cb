package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
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

// Create makes the role, then the access entry. If Create fails, it removes what it
// has made.
func (r *nodeRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodeRoleModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, roleTimeout)
	defer cancel()
	own := made{}
	save := func() {
		own.write(ctx, resp.Private, &resp.Diagnostics)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = plan.create(ctx, client, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error { return plan.remove(ctx, client.JustMade(), own) }, save)
		return
	}
	save()
}

// create makes the role and the access entry, and notes both in own.
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
	own.forgetEntry()
	return nil
}

// Read refreshes the role, its policies and the access entry. The role may be gone
// or replaced by somebody else, while our access entry still exists. It then has no
// ARN in the state, and the next apply makes it again.
func (r *nodeRole) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodeRoleModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	found, err := client.GetRole(ctx, state.Name.ValueString())
	if err == nil && !recorded {
		own[madeRole] = found.ID
	}
	if errors.Is(err, aws.ErrNotFound) || err == nil && !own.is(madeRole, found.ID) {
		found, err = aws.Role{}, nil
		delete(own, madeRole)
	}
	if err == nil {
		err = state.refresh(ctx, client, found, own, recorded)
	}
	switch {
	case err != nil:
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	case len(own) == 0:
		r.forget(ctx, resp, state)
		return
	case found.ARN != "":
		state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
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

// Update changes role and access entry as planned.
func (r *nodeRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[nodeRoleModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, roleTimeout)
	defer cancel()
	client, own, err := r.mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = plan.update(ctx, client, prior, own)
		own.write(ctx, resp.Private, &resp.Diagnostics)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
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

// Delete removes the access entry, then the role.
func (r *nodeRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodeRoleModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, roleTimeout)
	defer cancel()
	client, own, err := r.mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = state.remove(ctx, client, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}
