package provider

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// A controller role and a daemon are two resources, and the daemon has credentials only if the
// role trusts its service account. A change of one alone is said in the plan: without
// credentials the daemon launches no node and ends none.

// plannedTrusts are the controller roles that have been planned, by their ARN. Terraform plans a
// daemon that refers to a role after that role. It is safe for concurrent use.
type plannedTrusts struct {
	mu sync.Mutex
	of map[string]controllerRoleModel
}

// note keeps the plan of a role, if all is known on which a daemon depends.
func (t *plannedTrusts) note(m controllerRoleModel) {
	if !known(m.ARN, m.ClusterName, m.Identity, m.Namespace, m.ServiceAccount) || m.ARN.IsNull() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]controllerRoleModel{}
	}
	t.of[m.ARN.ValueString()] = m
}

func (t *plannedTrusts) role(arn string) (controllerRoleModel, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, found := t.of[arn]
	return m, found
}

// checkTrust refuses a daemon whose service account the planned role of its role_arn does not
// trust.
func (r *daemon) checkTrust(m daemonModel, diags *diag.Diagnostics) {
	if !known(m.RoleARN, m.ClusterName, m.Namespace, m.ServiceAccount) {
		return
	}
	role, found := r.session.trusts.role(m.RoleARN.ValueString())
	if !found {
		return
	}
	refuse := func(attribute, format string, args ...any) {
		diags.AddAttributeError(path.Root(attribute), "The daemon would have no credentials", fmt.Sprintf("karpenter_daemon %q: %s.", importID(m), fmt.Sprintf(format, args...)))
	}
	name := role.Name.ValueString()
	if role.byPodIdentity() {
		refuse("role_arn", "karpenter_controller_role %q has identity = %q, so the role accepts no token of the service account: leave role_arn out of karpenter_daemon, or set identity = %q in karpenter_controller_role", name, identityPod, identityIRSA)
		return
	}
	for _, same := range []struct{ attribute, of, has string }{
		{"cluster_name", role.ClusterName.ValueString(), m.ClusterName.ValueString()},
		{"namespace", role.Namespace.ValueString(), m.Namespace.ValueString()},
		{"service_account", role.ServiceAccount.ValueString(), m.ServiceAccount.ValueString()},
	} {
		if same.of != same.has {
			refuse(same.attribute, "%[1]s is %[2]q here and %[3]q in karpenter_controller_role %[4]q, so the role of role_arn does not trust the service account: set both to the same %[1]s", same.attribute, same.has, same.of, name)
		}
	}
}

// warnTrust says what must follow in karpenter_daemon when the role trusts another service
// account, or trusts it in another way.
func (r *controllerRole) warnTrust(m, prior controllerRoleModel, diags *diag.Diagnostics) {
	if !known(m.Identity, m.ClusterName, m.Namespace, m.ServiceAccount) {
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
		importID(m), strings.Join(follow, " and ")))
}
