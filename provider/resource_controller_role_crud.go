package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// policyDetached is what the policies attribute says of a policy that exists
// but is not attached.
const policyDetached = "not attached"

// policyARN is the ARN of one of the role's policies. Node role, controller
// role and policies are in one account.
func (m controllerRoleModel) policyARN(name string) string {
	partition, account := partitionAndAccount(m.NodeRoleARN.ValueString())
	return fmt.Sprintf("arn:%s:iam::%s:policy%s%s", partition, account, m.Path.ValueString(), name)
}

func (m controllerRoleModel) policy(name, document string) aws.Policy {
	return aws.Policy{
		Name: name, Path: m.Path.ValueString(), ARN: m.policyARN(name), Document: document,
		Description: "Karpenter daemon of EKS cluster " + m.ClusterName.ValueString(), Tags: stringMap(m.TagsAll),
	}
}

// role is what the model asks of IAM, with the named policies attached.
func (m controllerRoleModel) role(policies []string) aws.Role {
	role := aws.Role{
		Name: m.Name.ValueString(), Path: m.Path.ValueString(),
		Description:         "Karpenter daemon of EKS cluster " + m.ClusterName.ValueString(),
		PermissionsBoundary: m.PermissionsBoundary.ValueString(),
		TrustPolicy:         m.trust(), Tags: stringMap(m.TagsAll),
	}
	for _, name := range policies {
		role.ManagedPolicies = append(role.ManagedPolicies, m.policyARN(name))
	}
	return role
}

// findIssuer asks EKS for the cluster's issuer.
func (m *controllerRoleModel) findIssuer(ctx context.Context, client *aws.Clients) error {
	cluster, err := client.Cluster(ctx, m.ClusterName.ValueString())
	if err != nil {
		return err
	}
	if cluster.Issuer == "" {
		return fmt.Errorf("eks cluster %q has no OIDC issuer", cluster.Name)
	}
	m.OIDCIssuer = types.StringValue(strings.TrimPrefix(cluster.Issuer, "https://"))
	return nil
}

// Create makes the policies, then the role with them attached. It saves after
// each, so that a failure loses nothing.
func (r *controllerRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[controllerRoleModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = plan.findIssuer(ctx, client)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	documents := plan.documents(client.Region())
	plan.ARN, plan.TrustPolicy, plan.Policies = types.StringNull(), types.StringNull(), mapValue(nil)
	made := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if _, err = client.CreatePolicy(ctx, plan.policy(name, documents[name])); err != nil {
			r.fail(&resp.Diagnostics, "create", plan, err)
			return
		}
		made[name] = documents[name]
		plan.Policies = mapValue(made)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	role, err := client.CreateRole(ctx, plan.role(slices.Sorted(maps.Keys(documents))))
	if role.ARN != "" {
		plan.ARN, plan.TrustPolicy = types.StringValue(role.ARN), types.StringValue(plan.trust())
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
	}
}

// Read refreshes the role, its policies and the cluster's issuer.
func (r *controllerRole) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[controllerRoleModel](ctx, req.State, &resp.Diagnostics)
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
	gone := errors.Is(err, aws.ErrNotFound)
	if err == nil || gone && !state.NodeRoleARN.IsNull() {
		err = state.refresh(ctx, client, found)
	}
	switch {
	case gone && len(state.Policies.Elements()) == 0:
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	case !gone:
		state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// everyDocument has the documents that are wanted, and those of the state that
// no longer are: a provider that had another region named its policies by that.
func (m *controllerRoleModel) everyDocument(region string) map[string]string {
	all := m.documents(region)
	for name, document := range stringMap(m.Policies) {
		if _, wanted := all[name]; !wanted {
			all[name] = document
		}
	}
	return all
}

// refresh takes over what role and policies are. A role that is gone while
// policies are still there has no ARN: the next apply makes it again.
func (m *controllerRoleModel) refresh(ctx context.Context, client *aws.Clients, found aws.Role) error {
	m.ARN = stringOrNull(found.ARN)
	if found.ARN != "" {
		m.Path = types.StringValue(found.Path)
		m.PermissionsBoundary = stringOrNull(found.PermissionsBoundary)
		m.TrustPolicy = planJSON(m.TrustPolicy, found.TrustPolicy)
	}
	// A cluster that is gone has no issuer to compare with; the last one stays.
	if err := m.findIssuer(ctx, client); err != nil && !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	if m.NodeRoleARN.IsNull() {
		if err := m.reconstruct(ctx, client, found); err != nil {
			return err
		}
	}
	documents := map[string]string{}
	for name := range m.everyDocument(client.Region()) {
		arn := m.policyARN(name)
		policy, err := client.GetPolicy(ctx, arn)
		switch {
		case errors.Is(err, aws.ErrNotFound):
			continue
		case err != nil:
			return err
		case !slices.Contains(found.ManagedPolicies, arn):
			// One that we neither made nor attached is somebody else's.
			if _, ours := m.Policies.Elements()[name]; ours {
				documents[name] = policyDetached
			}
		default:
			documents[name] = policy.Document
		}
	}
	m.Policies = keepSpelling(m.Policies, documents)
	return nil
}

// Update takes policies and role to the plan; a policy that is not wanted any
// more is removed after it is detached.
func (r *controllerRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[controllerRoleModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = plan.update(ctx, client, prior)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

func (m *controllerRoleModel) update(ctx context.Context, client *aws.Clients, prior controllerRoleModel) error {
	before, after := prior.everyDocument(client.Region()), m.documents(client.Region())
	for _, name := range slices.Sorted(maps.Keys(after)) {
		want := m.policy(name, after[name])
		_, err := client.UpdatePolicy(ctx, prior.policy(name, before[name]), want)
		if errors.Is(err, aws.ErrNotFound) {
			_, err = client.CreatePolicy(ctx, want)
		}
		if err != nil {
			return err
		}
	}
	role, err := client.UpdateRole(ctx, prior.role(slices.Collect(maps.Keys(before))), m.role(slices.Sorted(maps.Keys(after))))
	if errors.Is(err, aws.ErrNotFound) {
		role, err = client.CreateRole(ctx, m.role(slices.Sorted(maps.Keys(after))))
	}
	if err != nil {
		return err
	}
	m.ARN = types.StringValue(role.ARN)
	for name := range before {
		if _, wanted := after[name]; wanted && prior.policyARN(name) == m.policyARN(name) {
			continue
		}
		if err := client.DeletePolicy(ctx, prior.policyARN(name)); err != nil {
			return err
		}
	}
	m.TrustPolicy, m.Policies = planJSON(m.TrustPolicy, m.trust()), keepSpelling(m.Policies, after)
	return nil
}

// Delete removes the role, then its policies.
func (r *controllerRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[controllerRoleModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, roleTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = client.DeleteRole(ctx, state.Name.ValueString())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
		return
	}
	for name := range state.Policies.Elements() {
		if err := client.DeletePolicy(ctx, state.policyARN(name)); err != nil {
			r.fail(&resp.Diagnostics, "delete", state, err)
			return
		}
	}
}
