package aws

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// renewEvery is how often credentials are fetched anew at the most because a service refuses them:
// it does so, too, where a clock is wrong, or where a policy denies the action to the role.
const renewEvery = time.Minute

// renewal fetches credentials anew where a service refuses them before their time, as when the
// sessions of a role are revoked. The SDK would use them until they end by themselves, for an
// hour of calls in vain.
type renewal struct {
	cache *awssdk.CredentialsCache

	mu   sync.Mutex
	last time.Time
}

// renewed is the refusal of a call that is tried again with new credentials.
type renewed struct{ error }

func (r renewed) Unwrap() error { return r.error }

// RetryableError tells the SDK's retries so.
func (renewed) RetryableError() bool { return true }

// follow makes the SDK report each refusal.
func (r *renewal) follow(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("RenewCredentials", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleDeserialize(ctx, in)
		if request, ok := in.Request.(*smithyhttp.Request); ok && endsSession(err) && r.renew(ctx, request.Header.Get("Authorization")) {
			err = renewed{err}
		}
		return out, meta, err
	}), middleware.Before)
}

// endsSession says whether a refusal may be of the session alone. Who revokes the sessions of a
// role gives the role a policy that denies all to those from before (IAM user guide, "Revoke IAM
// role temporary security credentials").
func endsSession(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	code := api.ErrorCode()
	return isExpired(code) || isUnauthorized(code) && strings.Contains(api.ErrorMessage(), "explicit deny in an identity-based policy")
}

// renew says whether there are other credentials now than those that a request was signed with.
func (r *renewal) renew(ctx context.Context, signature string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := func() bool {
		have, err := r.cache.Retrieve(ctx)
		return err == nil && !strings.Contains(signature, "Credential="+have.AccessKeyID+"/")
	}
	if other() { // another call has fetched them
		return true
	}
	if time.Since(r.last) < renewEvery {
		return false
	}
	r.last = time.Now()
	r.cache.Invalidate()
	return other()
}
