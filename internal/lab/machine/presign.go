package machine

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// emptyHash is the SHA-256 of no payload.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// clusterToken is what `aws eks get-token` makes: a presigned GetCallerIdentity
// with the cluster's name under signature, behind the prefix that EKS asks for.
func clusterToken(ctx context.Context, credentials aws.Credentials, stsURL, region, cluster string, now time.Time) (string, error) {
	url := strings.TrimSuffix(stsURL, "/") + "/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("cluster token make: %w", err)
	}
	request.Header.Set("X-K8s-Aws-Id", cluster)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, emptyHash, "sts", region, now)
	if err != nil {
		return "", fmt.Errorf("cluster token make: %w", err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed)), nil
}
