package credentials

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsbase "github.com/hashicorp/aws-sdk-go-base/v2"
	"github.com/hashicorp/aws-sdk-go-base/v2/diag"
)

// renewal is how long before their end credentials are renewed. A request that is signed
// in the last moment would arrive too late.
const renewal = time.Minute

// lazy looks for credentials when they are first needed. aws-sdk-go-base asks AWS for
// them at once, also where it validates nothing.
type lazy struct {
	base awsbase.Config

	mu    sync.Mutex
	found awssdk.CredentialsProvider
}

// Retrieve gives credentials that are valid for longer than renewal, if AWS gives such.
// Errors: ErrAssumeRole, ErrNone. A failure is not kept.
func (l *lazy) Retrieve(ctx context.Context) (awssdk.Credentials, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil {
		base := l.base
		_, sdk, diags := awsbase.GetAwsConfig(ctx, &base)
		if err := asError(diags); err != nil {
			return awssdk.Credentials{}, err
		}
		l.found = sdk.Credentials
	}
	have, err := l.found.Retrieve(ctx)
	cache, cached := l.found.(*awssdk.CredentialsCache)
	if err != nil || !cached || !have.CanExpire || time.Until(have.Expires) > renewal {
		return have, err
	}
	cache.Invalidate()
	if renewed, err := l.found.Retrieve(ctx); err == nil {
		return renewed, nil
	}
	return have, nil // they are valid still
}

// asError is the first error of the diagnostics.
func asError(diags diag.Diagnostics) error {
	for _, d := range diags {
		if d.Severity() != diag.SeverityError {
			continue
		}
		cause := errors.New(strings.TrimSpace(d.Summary() + ": " + d.Detail()))
		if with, ok := d.(diag.DiagnosticWithErr); ok {
			cause = with.Err()
		}
		switch {
		case awsbase.IsCannotAssumeRoleError(d), strings.HasPrefix(d.Summary(), "Cannot assume"):
			return fmt.Errorf("%w: %w", ErrAssumeRole, cause)
		case awsbase.IsNoValidCredentialSourcesError(d):
			return fmt.Errorf("%w: %w", ErrNone, cause)
		}
		return fmt.Errorf("aws credentials find: %w", cause)
	}
	return nil
}
