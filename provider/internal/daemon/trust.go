package daemon

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// A controller role and a daemon are two resources, and the daemon has credentials only if the
// role trusts its service account. A change of one alone is said in the plan: without
// credentials the daemon launches no node and ends none.

// checkTrust refuses a daemon whose service account the planned role of its role_arn does not
// trust.
func (r *daemon) checkTrust(m daemonModel, diags *diag.Diagnostics) {
	if !fwvalue.Known(m.RoleARN, m.ClusterName, m.Namespace, m.ServiceAccount) {
		return
	}
	role, found := r.Session.Roles.Role(m.RoleARN.ValueString())
	if !found {
		return
	}
	refuse := func(attribute, format string, args ...any) {
		diags.AddAttributeError(path.Root(attribute), "The daemon would have no credentials", fmt.Sprintf("karpenter_daemon %q: %s.", managed.ImportID(m), fmt.Sprintf(format, args...)))
	}
	if role.ByPodIdentity {
		refuse("role_arn", "karpenter_controller_role %q has identity = %q, so the role accepts no token of the service account: leave role_arn out of karpenter_daemon, or set identity = %q in karpenter_controller_role", role.Name, iamrole.IdentityPod, iamrole.IdentityIRSA)
		return
	}
	for _, same := range []struct{ attribute, of, has string }{
		{"cluster_name", role.Cluster, m.ClusterName.ValueString()},
		{"namespace", role.Namespace, m.Namespace.ValueString()},
		{"service_account", role.ServiceAccount, m.ServiceAccount.ValueString()},
	} {
		if same.of != same.has {
			refuse(same.attribute, "%[1]s is %[2]q here and %[3]q in karpenter_controller_role %[4]q, so the role of role_arn does not trust the service account: set both to the same %[1]s", same.attribute, same.has, same.of, role.Name)
		}
	}
}
