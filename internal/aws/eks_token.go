package aws

import (
	"context"
	"encoding/base64"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tokenPrefix = "k8s-aws-v1." //nolint:gosec // the name of a format, not a secret
	// EKS accepts a presigned request for 15 minutes after it was signed; one
	// minute is kept for clocks that differ.
	tokenLifetime = 14 * time.Minute
)

// TokenSource makes bearer tokens for one EKS cluster: a GetCallerIdentity
// presigned with the clients' credentials, which EKS sends to STS to learn who
// asks. It signs locally and never dials. Safe for concurrent use.
type TokenSource struct {
	cluster string
	sign    *sts.PresignClient
	now     func() time.Time

	mu     sync.Mutex
	token  string
	expiry time.Time
}

// EKSTokenSource makes the token source of a cluster.
func (c *Clients) EKSTokenSource(cluster string) *TokenSource {
	return &TokenSource{cluster: cluster, sign: sts.NewPresignClient(c.sts), now: time.Now}
}

// Token gives a token and the time it stops being valid. A token is used again
// until a minute before that. ErrCredentials when there are none to sign with.
func (s *TokenSource) Token(ctx context.Context) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.token != "" && now.Before(s.expiry.Add(-time.Minute)) {
		return s.token, s.expiry, nil
	}
	request, err := s.sign.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
			o.APIOptions = append(o.APIOptions,
				// The header binds the token to the cluster; it stays a signed header.
				smithyhttp.SetHeaderValue("x-k8s-aws-id", s.cluster),
				// The signer moves this one into the query, where EKS wants it.
				smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
		})
	})
	if err != nil {
		return "", time.Time{}, wrap(err, "eks token for cluster %q sign", s.cluster)
	}
	s.token = tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(request.URL))
	s.expiry = now.Add(tokenLifetime)
	return s.token, s.expiry, nil
}
