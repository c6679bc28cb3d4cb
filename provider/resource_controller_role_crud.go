package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// policyDetached is the value, in the attribute policies, of a policy that exists
// but is not attached.
const policyDetached = "not attached"

// policyARN is the ARN of one of the role's policies. Its partition and account are
// those of the node role: node role, controller role and policies are in one
// account.
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

// role is the role that the model asks IAM for, with the named policies attached.
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

func (r *controllerRole) create(ctx context.Context, j job[*aws.Clients], plan *controllerRoleModel) error {
	return plan.create(ctx, j.client, j.own)
}

func (r *controllerRole) update(ctx context.Context, j job[*aws.Clients], plan *controllerRoleModel, prior controllerRoleModel) error {
	return plan.update(ctx, j.client, prior, j.own)
}

func (r *controllerRole) remove(ctx context.Context, j job[*aws.Clients], state controllerRoleModel) error {
	return state.remove(ctx, j.client, j.own)
}

// read refreshes the role, its policies and the cluster's issuer. The role may be gone
// or replaced by somebody else, while our policies still exist. It then has no ARN in
// the state, and the next apply makes it again.
func (r *controllerRole) read(ctx context.Context, j job[*aws.Clients], state *controllerRoleModel) (bool, error) {
	found, err := findRole(ctx, j, state.Name.ValueString())
	// An import that finds no role cannot find its policies either.
	if err == nil && (found.ID != "" || !state.NodeRoleARN.IsNull()) {
		err = state.refresh(ctx, j.client, found, j.own, j.recorded)
	}
	if found.ID != "" {
		state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	}
	return len(j.own) > 0, err
}

// create makes the policies and the role, and notes them in own. The key of a
// policy is its ARN, its identity is the PolicyId.
func (m *controllerRoleModel) create(ctx context.Context, client *aws.Clients, own made) error {
	m.ARN, m.TrustPolicy, m.Policies = types.StringNull(), types.StringNull(), mapValue(nil)
	if err := m.findIssuer(ctx, client); err != nil {
		return err
	}
	documents, done := m.documents(client.Region()), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if err := m.createPolicy(ctx, client, m.policy(name, documents[name]), own); err != nil {
			return err
		}
		done[name] = documents[name]
		m.Policies = mapValue(done)
	}
	m.TrustPolicy = types.StringValue(m.trust())
	return m.createRole(ctx, client, slices.Sorted(maps.Keys(documents)), own)
}

func (m *controllerRoleModel) createPolicy(ctx context.Context, client *aws.Clients, want aws.Policy, own made) error {
	policy, err := client.CreatePolicy(ctx, want)
	if policy.ID != "" {
		own[policy.ARN] = policy.ID
	}
	return err
}

func (m *controllerRoleModel) createRole(ctx context.Context, client *aws.Clients, policies []string, own made) error {
	role, err := client.CreateRole(ctx, m.role(policies))
	if role.ID != "" {
		m.ARN, own[madeRole] = types.StringValue(role.ARN), role.ID
	}
	return err
}

// remove removes the role, then its policies.
func (m *controllerRoleModel) remove(ctx context.Context, client *aws.Clients, own made) error {
	if id := own[madeRole]; id != "" {
		if err := client.DeleteRole(ctx, m.Name.ValueString(), id); err != nil {
			return err
		}
		delete(own, madeRole)
	}
	for _, arn := range slices.Sorted(maps.Keys(own)) {
		if err := client.DeletePolicy(ctx, arn, own[arn]); err != nil {
			return err
		}
		delete(own, arn)
	}
	return nil
}

// everyDocument has the wanted documents and the documents that only the state
// has. A policy's name contains the region: after a change of the provider's region
// the state has policies with the old names.
func (m *controllerRoleModel) everyDocument(region string) map[string]string {
	all := m.documents(region)
	for name, document := range stringMap(m.Policies) {
		if _, wanted := all[name]; !wanted {
			all[name] = document
		}
	}
	return all
}

// refresh sets the model to the live role and policies. A role that is gone while
// policies still exist has no ARN, and the next apply makes it again.
func (m *controllerRoleModel) refresh(ctx context.Context, client *aws.Clients, found aws.Role, own made, recorded bool) error {
	m.ARN = stringOrNull(found.ARN)
	if found.ARN != "" {
		m.Path = types.StringValue(found.Path)
		m.PermissionsBoundary = stringOrNull(found.PermissionsBoundary)
		m.TrustPolicy = planJSON(m.TrustPolicy, found.TrustPolicy)
	}
	// A cluster that is gone has no issuer: the last known issuer stays.
	if err := m.findIssuer(ctx, client); err != nil && !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	if m.NodeRoleARN.IsNull() {
		if err := m.reconstruct(ctx, client, found); err != nil {
			return err
		}
	}
	documents, all := map[string]string{}, made{}
	for name := range m.everyDocument(client.Region()) {
		arn := m.policyARN(name)
		policy, err := client.GetPolicy(ctx, arn)
		attached := slices.Contains(found.ManagedPolicies, arn)
		// If nothing is recorded yet, a policy is ours that the state knows or that is
		// attached to an imported role.
		if _, known := m.Policies.Elements()[name]; err == nil && !recorded && (known || attached) {
			own[arn] = policy.ID
		}
		switch {
		case errors.Is(err, aws.ErrNotFound), err == nil && !own.is(arn, policy.ID):
			continue
		case err != nil:
			return err
		}
		m.tellApart(found.Tags, policy.Tags)
		switch {
		case !attached:
			documents[name] = policyDetached
		default:
			documents[name] = policy.Document
		}
		all[arn] = policy.ID
	}
	// A policy that a failed update has made is in own, but not in the state.
	for _, arn := range slices.Sorted(maps.Keys(own)) {
		if _, seen := all[arn]; seen || arn == madeRole {
			continue
		}
		policy, err := client.GetPolicy(ctx, arn)
		if err != nil && !errors.Is(err, aws.ErrNotFound) {
			return err
		}
		if err == nil && own.is(arn, policy.ID) {
			continue
		}
		delete(own, arn) // gone, or replaced by somebody else
	}
	m.Policies = keepSpelling(m.Policies, documents)
	return nil
}

// update changes policies and role as planned. A policy that is no longer wanted is
// first detached, then removed.
func (m *controllerRoleModel) update(ctx context.Context, client *aws.Clients, prior controllerRoleModel, own made) error {
	before, after := prior.everyDocument(client.Region()), m.documents(client.Region())
	wanted := map[string]bool{madeRole: true}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		want := m.policy(name, after[name])
		wanted[want.ARN] = true
		want.ID = own[want.ARN]
		err := aws.ErrNotFound
		if want.ID != "" {
			_, err = client.UpdatePolicy(ctx, prior.policy(name, before[name]), want)
		}
		if errors.Is(err, aws.ErrNotFound) {
			err = m.createPolicy(ctx, client, want, own)
		}
		if err != nil {
			return err
		}
	}
	names, err := slices.Sorted(maps.Keys(after)), aws.ErrNotFound
	if id := own[madeRole]; id != "" {
		want := m.role(names)
		want.ID = id
		var role aws.Role
		if role, err = client.UpdateRole(ctx, prior.role(slices.Collect(maps.Keys(before))), want); err == nil {
			m.ARN = types.StringValue(role.ARN)
		}
	}
	if errors.Is(err, aws.ErrNotFound) {
		err = m.createRole(ctx, client, names, own)
	}
	if err != nil {
		return err
	}
	for _, arn := range slices.Sorted(maps.Keys(own)) {
		if wanted[arn] {
			continue
		}
		if err := client.DeletePolicy(ctx, arn, own[arn]); err != nil {
			return err
		}
		delete(own, arn)
	}
	m.TrustPolicy, m.Policies = planJSON(m.TrustPolicy, m.trust()), keepSpelling(m.Policies, after)
	return nil
}
