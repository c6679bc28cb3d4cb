package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// roleTimeout covers IAM's eventual consistency with room to spare.
const roleTimeout = 5 * time.Minute

// role is what the model asks of IAM.
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

// accessEntry is what the model asks of EKS.
func (m nodeRoleModel) accessEntry() aws.AccessEntry {
	return aws.AccessEntry{
		Cluster: m.ClusterName.ValueString(), PrincipalARN: m.ARN.ValueString(),
		Type: nodeAccessEntryType, Tags: stringMap(m.TagsAll),
	}
}

// Create makes the role, then lets it into the cluster; a role without its
// access entry is kept in state, so that the next apply goes on from there.
func (r *nodeRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodeRoleModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	want := plan.role(awsspec.Partition(client.Region()))
	made, err := client.CreateRole(ctx, want)
	if made.ARN != "" {
		plan.ARN = types.StringValue(made.ARN)
		plan.AccessEntryARN = types.StringNull()
		plan.TrustPolicy = planJSON(plan.TrustPolicy, want.TrustPolicy)
		plan.ManagedPolicyARNs = setValue(want.ManagedPolicies)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	if err == nil {
		plan.AccessEntryARN, err = letIn(ctx, client, plan.accessEntry())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// letIn makes the access entry. An entry that is there is left over from an
// earlier role of the same name, or of another type: neither works, since EKS
// binds an entry to the unique id of its role.
func letIn(ctx context.Context, client *aws.Clients, want aws.AccessEntry) (types.String, error) {
	entry, err := client.CreateAccessEntry(ctx, want)
	if errors.Is(err, aws.ErrConflict) {
		if err := client.DeleteAccessEntry(ctx, want.Cluster, want.PrincipalARN); err != nil {
			return types.StringNull(), err
		}
		entry, err = client.CreateAccessEntry(ctx, want)
	}
	if err != nil {
		return types.StringNull(), err
	}
	return types.StringValue(entry.ARN), nil
}

// Read refreshes the role, its policies and the access entry.
func (r *nodeRole) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodeRoleModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		if !r.keepState(&resp.Diagnostics, err) {
			r.fail(&resp.Diagnostics, "read", state, err)
		}
		return
	}
	found, err := client.GetRole(ctx, state.Name.ValueString())
	if errors.Is(err, aws.ErrNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err == nil {
		err = state.refresh(ctx, client, found)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

func (m *nodeRoleModel) refresh(ctx context.Context, client *aws.Clients, found aws.Role) error {
	m.ARN, m.Path = types.StringValue(found.ARN), types.StringValue(found.Path)
	m.PermissionsBoundary = stringOrNull(found.PermissionsBoundary)
	m.TrustPolicy = planJSON(m.TrustPolicy, found.TrustPolicy)
	m.ManagedPolicyARNs = setValue(intersection(found.ManagedPolicies, awsspec.NodeManagedPolicyARNs(awsspec.Partition(client.Region()))))
	entry, err := client.GetAccessEntry(ctx, m.ClusterName.ValueString(), found.ARN)
	switch {
	case errors.Is(err, aws.ErrNotFound), err == nil && entry.Type != nodeAccessEntryType:
		m.AccessEntryARN = types.StringNull()
	case err != nil:
		return err
	default:
		m.AccessEntryARN = types.StringValue(entry.ARN)
	}
	return nil
}

// Update takes role and access entry to the plan.
func (r *nodeRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[nodeRoleModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	partition := awsspec.Partition(client.Region())
	want := plan.role(partition)
	if _, err = client.UpdateRole(ctx, prior.role(partition), want); err == nil {
		if plan.AccessEntryARN.IsUnknown() {
			plan.AccessEntryARN, err = letIn(ctx, client, plan.accessEntry())
		} else {
			_, err = client.UpdateAccessEntryTags(ctx, prior.accessEntry(), plan.accessEntry())
		}
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	plan.TrustPolicy, plan.ManagedPolicyARNs = planJSON(plan.TrustPolicy, want.TrustPolicy), setValue(want.ManagedPolicies)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// Delete shuts the role out of the cluster, then removes it.
func (r *nodeRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodeRoleModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = client.DeleteAccessEntry(ctx, state.ClusterName.ValueString(), state.ARN.ValueString())
	}
	if err == nil {
		err = client.DeleteRole(ctx, state.Name.ValueString())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}
