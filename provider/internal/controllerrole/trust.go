package controllerrole

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
)

// warnTrust says what must follow in karpenter_daemon when the role trusts another service
// account, or trusts it in another way.
func (r *controllerRole) warnTrust(m, prior controllerRoleModel, diags *diag.Diagnostics) {
	if !fwvalue.Known(m.Identity, m.ClusterName, m.Namespace, m.ServiceAccount) {
		return
	}
	var follow []string
	for _, part := range []struct{ attribute, was, is string }{
		{"cluster_name", prior.ClusterName.ValueString(), m.ClusterName.ValueString()},
		{"namespace", prior.Namespace.ValueString(), m.Namespace.ValueString()},
		{"service_account", prior.ServiceAccount.ValueString(), m.ServiceAccount.ValueString()},
	} {
		if part.was != "" && part.was != part.is { // an import may not tell what was
			follow = append(follow, fmt.Sprintf("set %s = %q", part.attribute, part.is))
		}
	}
	if !m.Identity.Equal(prior.Identity) && !prior.Identity.IsNull() {
		step := "set role_arn = karpenter_controller_role.NAME.arn"
		if m.byPodIdentity() {
			step = "leave role_arn out"
		}
		follow = append(follow, step)
	}
	if len(follow) == 0 {
		return
	}
	diags.AddWarning("The daemon must follow the role", fmt.Sprintf(
		"karpenter_controller_role %q: after this change, the role no longer trusts the daemon as it was. In karpenter_daemon, %s, in the same apply: otherwise the daemon has no credentials, and no node is launched, replaced or terminated.",
		managed.ImportID(m), strings.Join(follow, " and ")))
}

// notePlan keeps the plan of the role for the plan of the daemon, if all is known on which a
// daemon depends.
func (r *controllerRole) notePlan(m controllerRoleModel) {
	if !fwvalue.Known(m.ARN, m.ClusterName, m.Identity, m.Namespace, m.ServiceAccount) || m.ARN.IsNull() {
		return
	}
	r.Session.Roles.Note(m.ARN.ValueString(), session.PlannedRole{
		Name: m.Name.ValueString(), Cluster: m.ClusterName.ValueString(), Namespace: m.Namespace.ValueString(), ServiceAccount: m.ServiceAccount.ValueString(),
		ByPodIdentity: m.byPodIdentity(),
	})
}
