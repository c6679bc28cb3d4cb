package controllerrole

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
)

// policyDetached is the value, in the attribute policies, of a policy that exists
// but is not attached.
const policyDetached = "not attached"

// policyARN is the ARN of one of the role's policies. Its partition and account are
// those of the node role: node role, controller role and policies are in one
// account.
func (m controllerRoleModel) policyARN(name string) string {
	partition, account := awsspec.PartitionAndAccount(m.NodeRoleARN.ValueString())
	return fmt.Sprintf("arn:%s:iam::%s:policy%s%s", partition, account, m.Path.ValueString(), name)
}

func (m controllerRoleModel) policy(name, document string) aws.Policy {
	return aws.Policy{
		Name: name, Path: m.Path.ValueString(), ARN: m.policyARN(name), Document: document,
		Description: controllerRoleDescription(m.ClusterName.ValueString()), Tags: fwvalue.StringMap(m.TagsAll),
	}
}

// role is the role that the model asks IAM for, with the named policies attached.
func (m controllerRoleModel) role(region string, policies []string) aws.Role {
	role := m.Asked()
	role.TrustPolicy, role.Tags = m.trust(region), fwvalue.StringMap(m.TagsAll)
	var own []string
	for _, name := range policies {
		own = append(own, m.policyARN(name))
	}
	role.ManagedPolicies = m.WithAdditional(own)
	return role
}

// findIssuer asks EKS for the cluster, and sets its issuer. With Pod Identity there is none.
func (m *controllerRoleModel) findIssuer(ctx context.Context, client *aws.Clients) error {
	cluster, err := client.Cluster(ctx, m.ClusterName.ValueString())
	if err != nil {
		return err
	}
	if m.byPodIdentity() {
		m.OIDCIssuer = types.StringNull()
		return nil
	}
	if cluster.Issuer == "" {
		return fmt.Errorf("eks cluster %q has no OIDC issuer", cluster.Name)
	}
	m.OIDCIssuer = types.StringValue(strings.TrimPrefix(cluster.Issuer, "https://"))
	return nil
}

func (r *controllerRole) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *controllerRoleModel) error {
	if err := plan.create(ctx, j.Client, j.Own); err != nil {
		return err
	}
	r.warnOfIssuer(ctx, j.Client, *plan, j.Diags)
	return nil
}

func (r *controllerRole) Change(ctx context.Context, j managed.Job[*aws.Clients], plan *controllerRoleModel, prior controllerRoleModel) error {
	if err := plan.update(ctx, j.Client, prior, j.Own); err != nil {
		return err
	}
	// A plan may not have known the issuer, and does not tell of one that nobody changes.
	if !plan.OIDCIssuer.Equal(prior.OIDCIssuer) || !plan.Identity.Equal(prior.Identity) {
		r.warnOfIssuer(ctx, j.Client, *plan, j.Diags)
	}
	return nil
}

// Remove waits until the daemon no longer needs the role.
func (r *controllerRole) Remove(ctx context.Context, j managed.Job[*aws.Clients], state controllerRoleModel) error {
	err := managed.AwaitUnused(ctx, j, "role "+state.Name.ValueString(), func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		return state.users(ctx, client, j.Own)
	})
	if err != nil {
		return err
	}
	return state.remove(ctx, j.Client, j.Own)
}

// Observe refreshes the role, its policies and the cluster's issuer. The role may be gone
// or replaced by somebody else, while our policies still exist. It then has no ARN in
// the state, and the next apply makes it again.
func (r *controllerRole) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *controllerRoleModel) (bool, error) {
	found, err := iamrole.FindRole(ctx, j, state.Name.ValueString())
	// An import that finds no role cannot find its policies either.
	if err == nil && (found.ID != "" || !state.NodeRoleARN.IsNull()) {
		err = state.refresh(ctx, j.Client, found, j.Own, j.Recorded)
	}
	if found.ID != "" {
		state.TagsModel = iamrole.ReadRoleTags(&r.Base, state.TagsModel, found)
	}
	return len(j.Own) > 0, err
}

// create makes the policies, the role and its association, and notes them in own. The key
// of a policy is its ARN, its identity is the PolicyId.
func (m *controllerRoleModel) create(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	m.ARN, m.UniqueID, m.TrustPolicy = types.StringNull(), types.StringNull(), types.StringNull()
	m.AssociationID, m.AssociationARN, m.Policies, m.PolicyARNs = types.StringNull(), types.StringNull(), fwvalue.MapValue(nil), fwvalue.MapValue(nil)
	if err := m.findIssuer(ctx, client); err != nil {
		return err
	}
	documents, done := m.documents(client.Region()), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if err := m.createPolicy(ctx, client, m.policy(name, documents[name]), own); err != nil {
			return err
		}
		done[name] = documents[name]
		m.Policies, m.PolicyARNs = fwvalue.MapValue(done), m.policyARNs(client.Region(), done)
	}
	m.TrustPolicy = types.StringValue(m.trust(client.Region()))
	if err := m.CreateRole(ctx, client, m.ClusterName.ValueString(), m.role(client.Region(), slices.Sorted(maps.Keys(documents))), own); err != nil {
		return err
	}
	return m.associate(ctx, client, own, nil)
}

func (m *controllerRoleModel) createPolicy(ctx context.Context, client *aws.Clients, want aws.Policy, own ownership.Record) error {
	policy, err := client.CreatePolicy(ctx, want)
	policy, err = finishPolicy(ctx, client, want, policy, err, own)
	if policy.ID != "" {
		own[policy.ARN] = policy.ID
	}
	return err
}

// remove removes the association, the role, then its policies.
func (m *controllerRoleModel) remove(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	if err := m.dissociate(ctx, client, own, ""); err != nil {
		return err
	}
	if id := own[ownership.KeyRole]; id != "" {
		if err := client.DeleteRole(ctx, m.Name.ValueString(), id); err != nil {
			return err
		}
		delete(own, ownership.KeyRole)
	}
	return deletePolicies(ctx, client, own, nil)
}

// deletePolicies deletes the policies in own that are not wanted.
func deletePolicies(ctx context.Context, client *aws.Clients, own ownership.Record, wanted map[string]bool) error {
	for _, arn := range iamrole.MadePolicies(own) {
		if wanted[arn] {
			continue
		}
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
	for name, document := range fwvalue.StringMap(m.Policies) {
		if _, wanted := all[name]; !wanted {
			all[name] = document
		}
	}
	return all
}

// refresh sets the model to the live role and policies. A role that is gone while
// policies still exist has no ARN, and the next apply makes it again.
func (m *controllerRoleModel) refresh(ctx context.Context, client *aws.Clients, found aws.Role, own ownership.Record, recorded bool) error {
	m.Found(found)
	imported := m.NodeRoleARN.IsNull()
	if imported {
		if err := m.reconstruct(ctx, client, found); err != nil {
			return err
		}
	}
	if m.Identity.IsNull() { // an import, or a state of an earlier version
		m.Identity = types.StringValue(identityOf(found.TrustPolicy))
	}
	if err := m.refreshAssociation(ctx, client, found, own, recorded); err != nil {
		return err
	}
	// A cluster that is gone has no issuer: the last known issuer stays.
	if err := m.findIssuer(ctx, client); err != nil && !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	m.FoundAttached(found, own)
	documents, all := map[string]string{}, ownership.Record{}
	for name := range m.everyDocument(client.Region()) {
		arn := m.policyARN(name)
		policy, err := client.GetPolicy(ctx, arn)
		attached := slices.Contains(found.ManagedPolicies, arn)
		// If nothing is recorded yet, a policy is ours that the state knows or that is
		// attached to an imported role, or has the name that a policy of it must have.
		if _, known := m.Policies.Elements()[name]; err == nil && !recorded && (known || attached || imported) {
			own[arn] = policy.ID
		}
		switch {
		case errors.Is(err, aws.ErrNotFound), err == nil && !own.Is(arn, policy.ID):
			continue
		case err != nil:
			return err
		}
		m.TellApart(found.Tags, policy.Tags)
		switch {
		case !attached:
			documents[name] = policyDetached
		default:
			documents[name] = policy.Document
		}
		all[arn] = policy.ID
	}
	// A policy that a failed update has made is in own, but not in the state.
	for _, arn := range iamrole.MadePolicies(own) {
		if _, seen := all[arn]; seen {
			continue
		}
		policy, err := client.GetPolicy(ctx, arn)
		if err != nil && !errors.Is(err, aws.ErrNotFound) {
			return err
		}
		if err == nil && own.Is(arn, policy.ID) {
			continue
		}
		delete(own, arn) // gone, or replaced by somebody else
	}
	m.Policies, m.PolicyARNs = policydoc.PlanPolicies(m.Policies, documents), m.policyARNs(client.Region(), documents)
	return nil
}

// update changes policies and role as planned. A policy that is no longer wanted is
// first detached, then removed.
func (m *controllerRoleModel) update(ctx context.Context, client *aws.Clients, prior controllerRoleModel, own ownership.Record) error {
	if m.OIDCIssuer.IsUnknown() {
		if err := m.findIssuer(ctx, client); err != nil {
			return err
		}
	}
	before, after := prior.everyDocument(client.Region()), m.documents(client.Region())
	wanted := map[string]bool{}
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
	if err := m.updateRole(ctx, client, prior, own, slices.Collect(maps.Keys(before)), slices.Sorted(maps.Keys(after))); err != nil {
		return err
	}
	if err := m.associate(ctx, client, own, &prior); err != nil {
		return err
	}
	if err := deletePolicies(ctx, client, own, wanted); err != nil {
		return err
	}
	m.TrustPolicy = policydoc.PlanPolicy(m.TrustPolicy, m.trust(client.Region()))
	m.Policies, m.PolicyARNs = policydoc.PlanPolicies(m.Policies, after), m.policyARNs(client.Region(), after)
	return nil
}

// updateRole changes the role, or makes it if it is gone. before and after are the names of
// its policies.
func (m *controllerRoleModel) updateRole(ctx context.Context, client *aws.Clients, prior controllerRoleModel, own ownership.Record, before, after []string) error {
	err := aws.ErrNotFound
	if own[ownership.KeyRole] != "" {
		err = m.ChangeRole(ctx, client, prior.role(client.Region(), before), m.role(client.Region(), after), own)
	}
	if errors.Is(err, aws.ErrNotFound) {
		err = m.CreateRole(ctx, client, m.ClusterName.ValueString(), m.role(client.Region(), after), own)
	}
	return err
}

// finishPolicy gives the result of CreatePolicy, or the policy that was left.
func finishPolicy(ctx context.Context, client *aws.Clients, want, policy aws.Policy, failure error, own ownership.Record) (aws.Policy, error) {
	return aws.Finish(policy, failure, func() (aws.Policy, error) { return client.FinishPolicy(ctx, want) },
		func(p aws.Policy) { own.TakeUp(p.ARN, p.ID, fmt.Sprintf("policy %q", p.Name)) })
}
