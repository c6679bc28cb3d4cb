package controllerrole

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// warnOfIssuer warns if the role serves nobody: IAM does not know the issuer of the service
// account's tokens. The same apply may register it, so this is no error. What cannot be asked
// is not said.
func (r *controllerRole) warnOfIssuer(ctx context.Context, client *aws.Clients, m controllerRoleModel, diags *diag.Diagnostics) {
	if m.Identity.ValueString() != iamrole.IdentityIRSA || m.OIDCIssuer.ValueString() == "" || !fwvalue.Known(m.NodeRoleARN, m.ClusterName) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	issuer := m.OIDCIssuer.ValueString()
	partition, account := awsspec.PartitionAndAccount(m.NodeRoleARN.ValueString())
	what, remedy, err := iamrole.UnregisteredIssuer(ctx, client, awsspec.OIDCProviderARN(issuer, account, partition), m.ClusterName.ValueString(), issuer, awsspec.IRSAAudience)
	if err != nil {
		tflog.Debug(ctx, "whether IAM knows the issuer of the cluster is not known", map[string]any{"error": err.Error()})
		return
	}
	if what != "" {
		diags.AddWarning("The daemon would have no credentials", fmt.Sprintf(
			"karpenter_controller_role %q: %s. Until it is, STS refuses the tokens of the service account (InvalidIdentityToken), and the daemon does not start.\n\n%s If the same apply does that, all is well.", managed.ImportID(m), what, remedy))
	}
}
