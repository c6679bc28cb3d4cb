package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// warnOfIssuer warns if the role serves nobody: IAM does not know the issuer of the service
// account's tokens. The same apply may register it, so this is no error. What cannot be asked
// is not said.
func (r *controllerRole) warnOfIssuer(ctx context.Context, client *aws.Clients, m controllerRoleModel, diags *diag.Diagnostics) {
	if m.Identity.ValueString() != identityIRSA || m.OIDCIssuer.ValueString() == "" || !known(m.NodeRoleARN, m.ClusterName) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTimeout)
	defer cancel()
	issuer := m.OIDCIssuer.ValueString()
	partition, account := partitionAndAccount(m.NodeRoleARN.ValueString())
	what, remedy, err := unregistered(ctx, client, awsspec.OIDCProviderARN(issuer, account, partition), m.ClusterName.ValueString(), issuer, awsspec.IRSAAudience)
	if err != nil {
		tflog.Debug(ctx, "whether IAM knows the issuer of the cluster is not known", map[string]any{"error": err.Error()})
		return
	}
	if what != "" {
		diags.AddWarning("The daemon would have no credentials", fmt.Sprintf(
			"karpenter_controller_role %q: %s. Until it is, STS refuses the tokens of the service account (InvalidIdentityToken), and the daemon does not start.\n\n%s If the same apply does that, all is well.", importID(m), what, remedy))
	}
}

// unregistered says why STS refuses the tokens of the issuer with that audience, and what to
// do; "" if it does not. arn is that of the issuer's OIDC provider.
func unregistered(ctx context.Context, client *aws.Clients, arn, cluster, issuer, audience string) (what, remedy string, err error) {
	audiences, err := client.OIDCProvider(ctx, arn)
	switch {
	case errors.Is(err, aws.ErrNotFound):
		return fmt.Sprintf("the issuer https://%s of cluster %q is not registered in IAM: there is no OIDC provider %s", issuer, cluster, arn),
			fmt.Sprintf("Register it: aws_iam_openid_connect_provider, enable_irsa of terraform-aws-eks, or aws iam create-open-id-connect-provider --url https://%s --client-id-list %s. "+
				"Or set identity = %q in karpenter_controller_role, leave role_arn out of karpenter_daemon, and install the add-on %s.", issuer, audience, identityPod, podIdentityAgent), nil
	case err != nil:
		return "", "", err //nolint:wrapcheck // it names the call
	case !slices.Contains(audiences, audience):
		return fmt.Sprintf("the audience %s is not registered in the OIDC provider %s of cluster %q", audience, arn, cluster),
			fmt.Sprintf("Add it: aws iam add-client-id-to-open-id-connect-provider --open-id-connect-provider-arn %s --client-id %s.", arn, audience), nil
	}
	return "", "", nil
}
