package awssim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sigv4"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	maxSkew = 5 * time.Minute
	// STS accepts a presigned request for 15 minutes, whatever it says of its expiry.
	presignedLifetime = 15 * time.Minute
)

// authenticate finds whose key signed the request. Errors carry the codes of
// the service's protocol.
func (c *Cloud) authenticate(r *http.Request, x *exchange) (wire.Identity, error) {
	why := x.refusals()
	refuse := func(code, format string, args ...any) (wire.Identity, error) {
		return wire.Identity{}, &wire.Error{Code: code, Status: why.status, Message: fmt.Sprintf(format, args...)}
	}
	if x.sig.Region != c.options.Region && !(x.global && slices.Contains(globalRegions(), x.sig.Region)) {
		return refuse(why.mismatch, "Credential should be scoped to a valid region, not '%s': this cloud has %s.", x.sig.Region, c.options.Region)
	}
	key, ok := c.IAM.Credential(x.sig.AccessKeyID)
	if !ok || key.SessionToken != x.sig.SessionToken {
		if x.family == ec2Query {
			return refuse(why.unknownKey, "AWS was not able to validate the provided access credentials")
		}
		return refuse(why.unknownKey, "The security token included in the request is invalid.")
	}
	if err := x.sig.Verify(r, x.body, key.SecretAccessKey); err != nil {
		switch {
		case errors.Is(err, sigv4.ErrBody):
			return refuse(why.mismatch, "The provided x-amz-content-sha256 header does not match what was computed.")
		case x.family == ec2Query:
			return refuse(why.mismatch, "AWS was not able to validate the provided access credentials")
		}
		return refuse(why.mismatch, "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	}
	now := x.request.Now
	late, early := now.Sub(x.sig.Time), x.sig.Time.Sub(now)
	if early > maxSkew {
		return refuse(why.skew, "Signature not yet current: %s is still later than %s", x.sig.Time.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if late > maxSkew && !x.sig.Presigned || late > presignedLifetime {
		return refuse(why.skew, "Signature expired: %s is now earlier than %s", x.sig.Time.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if !key.Expiration.IsZero() && !now.Before(key.Expiration) {
		return refuse(why.expiredKey, "The security token included in the request is expired")
	}
	return key.Identity, nil
}
