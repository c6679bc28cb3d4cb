package controllerrole

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// podPlan plans what identity decides. The association belongs to one service account:
// another service account needs another association.
func (m controllerRoleModel) podPlan(prior controllerRoleModel) podModel {
	p := m.podModel
	switch {
	case p.Identity.IsUnknown():
		p.OIDCIssuer, p.AssociationID, p.AssociationARN = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	case !p.byPodIdentity():
		p.OIDCIssuer, p.AssociationID, p.AssociationARN = managed.KeepOrCreate(prior.OIDCIssuer), types.StringNull(), types.StringNull()
	case p.Namespace.Equal(prior.Namespace) && p.ServiceAccount.Equal(prior.ServiceAccount):
		p.OIDCIssuer, p.AssociationID, p.AssociationARN = types.StringNull(), managed.KeepOrCreate(prior.AssociationID), managed.KeepOrCreate(prior.AssociationARN)
	default:
		p.OIDCIssuer, p.AssociationID, p.AssociationARN = types.StringNull(), types.StringUnknown(), types.StringUnknown()
	}
	return p
}

// trustKnown tells whether everything is known of which the trust policy is made.
func (m controllerRoleModel) trustKnown(region string) bool {
	return fwvalue.Known(m.Identity, m.OIDCIssuer, m.NodeRoleARN, m.Namespace, m.ServiceAccount, m.ClusterName) && (region != "" || !m.byPodIdentity())
}

// trust is the trust policy. With Pod Identity it is for the cluster's service account, by
// the tags that EKS gives to the session.
func (m controllerRoleModel) trust(region string) string {
	partition, account := awsspec.PartitionAndAccount(m.NodeRoleARN.ValueString())
	if m.byPodIdentity() {
		return awsspec.PodIdentityTrust(awsspec.ClusterARN(partition, region, account, m.ClusterName.ValueString()), m.Namespace.ValueString(), m.ServiceAccount.ValueString())
	}
	return awsspec.IRSATrust(m.OIDCIssuer.ValueString(), account, partition, m.Namespace.ValueString(), m.ServiceAccount.ValueString())
}

// identityOf reads from a trust policy how pods get the role.
func identityOf(trust string) string {
	if strings.Contains(trust, awsspec.PodIdentityPrincipal) {
		return iamrole.IdentityPod
	}
	return iamrole.IdentityIRSA
}

// checkAccounts refuses ARNs of another partition, account or region than those in which the
// daemon can use them. region is "" while it is not known.
func (m controllerRoleModel) checkAccounts(region string, diags *diag.Diagnostics) {
	if !fwvalue.Known(m.NodeRoleARN) {
		return
	}
	partition, account := awsspec.PartitionAndAccount(m.NodeRoleARN.ValueString())
	refuse := func(at path.Path, format string, args ...any) {
		diags.AddAttributeError(at, "Invalid value", fmt.Sprintf("%s: %s.", at, fmt.Sprintf(format, args...)))
	}
	if want := awsspec.Partition(region); region != "" && partition != want {
		refuse(path.Root("node_role_arn"), "the role is in the partition %s, and the region %s is in %s: write the ARN of a role in %s, or set the provider's region", partition, region, want, want)
		return
	}
	check := func(at path.Path, arn, remedy string) {
		if p, a := awsspec.PartitionAndAccount(arn); p != "" && (p != partition || a != account && a != "aws") {
			refuse(at, "%q is in account %s of partition %s, and node_role_arn in account %s of %s: %s", arn, a, p, account, partition, remedy)
		}
	}
	for _, element := range m.NodeRoleARNs.Elements() {
		if fwvalue.Known(element) {
			check(path.Root("node_role_arns"), fwvalue.Text(element), "instances can have roles of their own account only")
		}
	}
	check(path.Root("permissions_boundary"), m.PermissionsBoundary.ValueString(), "the boundary must be a policy of the role's account, or of AWS")
	for _, element := range m.AdditionalPolicyARNs.Elements() {
		if fwvalue.Known(element) {
			check(path.Root("additional_policy_arns"), fwvalue.Text(element), "attach policies of the role's account, or of AWS")
		}
	}
	queue := m.QueueARN.ValueString()
	check(path.Root("queue_arn"), queue, "the daemon reads a queue of its own account")
	if parts := strings.Split(queue, ":"); region != "" && len(parts) == 6 && parts[3] != region {
		refuse(path.Root("queue_arn"), "the queue is in region %s, and the daemon reads a queue in %s: write the ARN of a queue in %s", parts[3], region, region)
	}
}

// madeAssociation is the key in the record of the association of a service account. Its identity
// is the id of the association.
func madeAssociation(namespace, serviceAccount string) string {
	return associationKey + namespace + "/" + serviceAccount
}

const associationKey = "association "

// associationsIn are the keys of the associations that were made, sorted.
func associationsIn(own ownership.Record) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(own)), func(key string) bool { return !strings.HasPrefix(key, associationKey) })
}

func (m controllerRoleModel) associationName() string {
	return madeAssociation(m.Namespace.ValueString(), m.ServiceAccount.ValueString())
}

// association is the association that the model asks EKS for.
func (m controllerRoleModel) association() aws.PodAssociation {
	return aws.PodAssociation{
		Cluster: m.ClusterName.ValueString(), Namespace: m.Namespace.ValueString(), ServiceAccount: m.ServiceAccount.ValueString(),
		RoleARN: m.ARN.ValueString(), Tags: fwvalue.StringMap(m.TagsAll),
	}
}

func (m *controllerRoleModel) associated(a aws.PodAssociation) {
	m.AssociationID, m.AssociationARN = fwvalue.StringOrNull(a.ID), fwvalue.StringOrNull(a.ARN)
}

// associate makes or changes the association, and then removes those that are not wanted
// any more. prior is nil at a creation.
func (m *controllerRoleModel) associate(ctx context.Context, client *aws.Clients, own ownership.Record, prior *controllerRoleModel) error {
	if !m.byPodIdentity() {
		m.associated(aws.PodAssociation{})
		return m.dissociate(ctx, client, own, "")
	}
	key, want, err := m.associationName(), m.association(), aws.ErrNotFound
	if want.ID = own[key]; want.ID != "" && prior != nil {
		var a aws.PodAssociation
		if a, err = client.UpdatePodAssociation(ctx, prior.association(), want); err == nil {
			m.associated(a)
		}
	}
	if errors.Is(err, aws.ErrNotFound) {
		var a aws.PodAssociation
		a, err = client.CreatePodAssociation(ctx, want)
		a, err = aws.Finish(a, err, func() (aws.PodAssociation, error) { return client.FinishPodAssociation(ctx, want) }, func(left aws.PodAssociation) {
			own.TakeUp(key, left.ID, fmt.Sprintf("Pod Identity association of service account %q", want.Namespace+"/"+want.ServiceAccount))
		})
		if a.ID != "" {
			own[key] = a.ID
			m.associated(a)
		}
		if errors.Is(err, aws.ErrConflict) {
			err = fmt.Errorf("%w: %w", failure.ErrOtherAssociation, err)
		}
	}
	if err != nil {
		return err
	}
	return m.dissociate(ctx, client, own, key)
}

// dissociate removes the associations that were made, besides the one to keep.
func (m *controllerRoleModel) dissociate(ctx context.Context, client *aws.Clients, own ownership.Record, keep string) error {
	for _, key := range associationsIn(own) {
		if key == keep {
			continue
		}
		if err := client.DeletePodAssociation(ctx, m.ClusterName.ValueString(), own[key]); err != nil {
			return err
		}
		delete(own, key)
	}
	return nil
}

// refreshAssociation sets the model to the live association. An association that gives the
// pods another role, or no session tags, has no id in the state, and the next apply corrects
// it.
func (m *controllerRoleModel) refreshAssociation(ctx context.Context, client *aws.Clients, found aws.Role, own ownership.Record, recorded bool) error {
	cluster := m.ClusterName.ValueString()
	if !recorded && m.byPodIdentity() {
		a, err := client.FindPodAssociation(ctx, cluster, m.Namespace.ValueString(), m.ServiceAccount.ValueString())
		if err != nil && !errors.Is(err, aws.ErrNotFound) {
			return err
		}
		if err == nil && a.RoleARN == m.ARN.ValueString() {
			own[m.associationName()] = a.ID
		}
	}
	m.associated(aws.PodAssociation{})
	for _, key := range associationsIn(own) {
		a, err := client.GetPodAssociation(ctx, cluster, own[key])
		switch {
		case errors.Is(err, aws.ErrNotFound):
			delete(own, key)
		case err != nil:
			return err
		case key == m.associationName() && a.RoleARN == m.ARN.ValueString() && !a.Untagged && a.TargetRoleARN == "":
			m.associated(a)
			m.TellApart(found.Tags, a.Tags)
		}
	}
	return nil
}

// TakeBack removes what a failed creation made, also an association whose creation was not
// answered: it gives the pods the role that was made here.
func (r *controllerRole) TakeBack(ctx context.Context, j managed.Job[*aws.Clients], plan controllerRoleModel) error {
	if plan.byPodIdentity() && j.Own[ownership.KeyRole] != "" && len(associationsIn(j.Own)) == 0 {
		a, err := j.Client.FindPodAssociation(ctx, plan.ClusterName.ValueString(), plan.Namespace.ValueString(), plan.ServiceAccount.ValueString())
		if err == nil && a.RoleARN == plan.ARN.ValueString() {
			j.Own[plan.associationName()] = a.ID
		}
	}
	return plan.remove(ctx, j.Client, j.Own)
}
