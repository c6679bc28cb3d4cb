package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// OIDCProvider returns the audiences of the OIDC identity provider with the ARN. Error:
// ErrNotFound.
func (c *Clients) OIDCProvider(ctx context.Context, arn string) (audiences []string, err error) {
	out, err := c.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: &arn})
	if err != nil {
		return nil, wrap(err, "OIDC provider %s read", arn)
	}
	return out.ClientIDList, nil
}
