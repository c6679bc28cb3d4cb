package iamrole

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// How the daemon's pods get their role.
const (
	IdentityIRSA = "irsa"         // by tokens of the cluster's OIDC issuer
	IdentityPod  = "pod_identity" // by EKS Pod Identity
)

// PodIdentityAgent is the EKS add-on of Pod Identity, and its DaemonSet.
const PodIdentityAgent = "eks-pod-identity-agent"

// UnregisteredIssuer says why STS refuses the tokens of the issuer with that audience, and what to
// do; "" if it does not. arn is that of the issuer's OIDC provider.
func UnregisteredIssuer(ctx context.Context, client *aws.Clients, arn, cluster, issuer, audience string) (what, remedy string, err error) {
	audiences, err := client.OIDCProvider(ctx, arn)
	switch {
	case errors.Is(err, aws.ErrNotFound):
		return fmt.Sprintf("the issuer https://%s of cluster %q is not registered in IAM: there is no OIDC provider %s", issuer, cluster, arn),
			fmt.Sprintf("Register it: aws_iam_openid_connect_provider, enable_irsa of terraform-aws-eks, or aws iam create-open-id-connect-provider --url https://%s --client-id-list %s. "+
				"Or set identity = %q in karpenter_controller_role, leave role_arn out of karpenter_daemon, and install the add-on %s.", issuer, audience, IdentityPod, PodIdentityAgent), nil
	case err != nil:
		return "", "", err //nolint:wrapcheck // it names the call
	case !slices.Contains(audiences, audience):
		return fmt.Sprintf("the audience %s is not registered in the OIDC provider %s of cluster %q", audience, arn, cluster),
			fmt.Sprintf("Add it: aws iam add-client-id-to-open-id-connect-provider --open-id-connect-provider-arn %s --client-id %s.", arn, audience), nil
	}
	return "", "", nil
}
