package aws

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tokenPrefix = "k8s-aws-v1." //nolint:gosec // the name of a format, not a secret
	// EKS accepts a presigned request for 15 minutes after it was signed. One minute
	// less allows for clocks that differ.
	tokenLifetime = 14 * time.Minute
)

// TokenSource makes bearer tokens for one EKS cluster. A token is a GetCallerIdentity
// request, presigned with the clients' credentials. EKS sends the request to STS to
// learn who the caller is. TokenSource signs locally and never connects. It is safe for
// concurrent use.
type TokenSource struct {
	cluster     string
	sign        *sts.PresignClient
	credentials awssdk.CredentialsProvider
	now         func() time.Time

	mu     sync.Mutex
	token  string
	expiry time.Time
}

// EKSTokenSource makes the token source of a cluster.
func (c *Clients) EKSTokenSource(cluster string) *TokenSource {
	return &TokenSource{cluster: cluster, sign: sts.NewPresignClient(c.sts), credentials: c.sts.Options().Credentials, now: time.Now}
}

// Token returns a token and the time until which it is valid: never longer than the
// credentials that signed it, because STS refuses the token after them. It returns the
// same token until a minute before that. Error: ErrCredentials if there are no credentials
// to sign with.
func (s *TokenSource) Token(ctx context.Context) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.token != "" && now.Before(s.expiry.Add(-time.Minute)) {
		return s.token, s.expiry, nil
	}
	// These credentials are read before the ones that sign, so they do not end later.
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return "", time.Time{}, wrap(fmt.Errorf("failed to retrieve credentials: %w", err), "eks token for cluster %q sign", s.cluster)
	}
	request, err := s.sign.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
			// EKS sends the request, and accepts hosts that it knows: no dual-stack ones are
			// among those of aws-iam-authenticator.
			o.EndpointOptions.UseDualStackEndpoint = awssdk.DualStackEndpointStateDisabled
			o.APIOptions = append(o.APIOptions,
				// This header binds the token to the cluster; it stays a signed header.
				smithyhttp.SetHeaderValue("x-k8s-aws-id", s.cluster),
				// The signer moves this header into the query, where EKS expects it.
				smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
		})
	})
	if err != nil {
		return "", time.Time{}, wrap(err, "eks token for cluster %q sign", s.cluster)
	}
	s.token = tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(request.URL))
	s.expiry = now.Add(tokenLifetime)
	if credentials.CanExpire && credentials.Expires.Before(s.expiry) {
		s.expiry = credentials.Expires
	}
	return s.token, s.expiry, nil
}
