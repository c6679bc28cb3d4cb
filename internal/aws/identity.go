package aws

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Identity is the caller, as AWS sees it.
type Identity struct {
	Account   string // twelve digits
	Partition string // aws, aws-cn, aws-us-gov, ...
	ARN       string
}

// Identity asks STS who the caller is. Error: ErrCredentials if STS does not accept the
// credentials.
func (c *Clients) Identity(ctx context.Context) (Identity, error) {
	out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Identity{}, wrap(err, "caller identity read")
	}
	id := Identity{Account: awssdk.ToString(out.Account), ARN: awssdk.ToString(out.Arn)}
	if parts := strings.SplitN(id.ARN, ":", 3); len(parts) == 3 {
		id.Partition = parts[1]
	}
	return id, nil
}
