package sigv4_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sigv4"
)

const (
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	body   = `{"a":1}`
	target = "http://127.0.0.1:1234/tags/arn%3Aaws%3Aeks%3A1%2Fx?tagKeys=b&tagKeys=a%20c&Empty="
)

// received is the request as a server gets it.
func received(t *testing.T, r *http.Request) *http.Request {
	t.Helper()
	out := httptest.NewRequest(r.Method, r.URL.String(), nil)
	out.Header, out.Host, out.ContentLength = r.Header.Clone(), r.URL.Host, r.ContentLength
	return out
}

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, target, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "A.B")
	r.Header.Set("X-Spaced", "  a   b ")
	return r
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func signed(t *testing.T) *http.Request {
	t.Helper()
	r := newRequest(t)
	key := aws.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: secret, SessionToken: "token"}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, r, hash(body), "eks", "us-west-2", time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

func verify(r *http.Request, text string) (*sigv4.Signature, error) {
	s, err := sigv4.Parse(r)
	if err != nil {
		return nil, err
	}
	return s, s.Verify(r, []byte(text), secret)
}

func TestVerify_AcceptsWhatTheSDKSigns(t *testing.T) {
	s, err := verify(received(t, signed(t)), body)
	if err != nil {
		t.Fatal(err)
	}
	if s.AccessKeyID != "AKIA1" || s.Region != "us-west-2" || s.Service != "eks" || s.SessionToken != "token" || s.Presigned {
		t.Errorf("signature is %+v", s)
	}
}

func TestVerify_AcceptsPresignedRequests(t *testing.T) {
	r, err := http.NewRequest(http.MethodGet, "http://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-K8s-Aws-Id", "lab")
	key := aws.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: secret, SessionToken: "to+ken/=="}
	address, _, err := v4.NewSigner().PresignHTTP(context.Background(), key, r, hash(""), "sts", "us-west-2", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	get := func(cluster string) error {
		in := httptest.NewRequest(http.MethodGet, address, nil)
		in.Header.Set("X-K8s-Aws-Id", cluster)
		s, err := verify(in, "")
		if err == nil && (!s.Presigned || s.SessionToken != "to+ken/==") {
			t.Errorf("signature is %+v", s)
		}
		return err
	}
	if err := get("lab"); err != nil {
		t.Error(err)
	}
	if err := get("other"); !errors.Is(err, sigv4.ErrMismatch) {
		t.Errorf("with another header: %v", err)
	}
}

func TestVerify_RefusesEveryChange(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*http.Request)
		body   string
		want   error
	}{
		"method":        {func(r *http.Request) { r.Method = http.MethodPut }, body, sigv4.ErrMismatch},
		"path":          {func(r *http.Request) { r.URL.RawPath, r.URL.Path = "", "/tags/other" }, body, sigv4.ErrMismatch},
		"query":         {func(r *http.Request) { r.URL.RawQuery += "&x=1" }, body, sigv4.ErrMismatch},
		"signed header": {func(r *http.Request) { r.Header.Set("X-Amz-Target", "A.C") }, body, sigv4.ErrMismatch},
		"host":          {func(r *http.Request) { r.Host = "elsewhere" }, body, sigv4.ErrMismatch},
		"body":          {func(*http.Request) {}, `{"a":2}`, sigv4.ErrMismatch},
		"declared hash": {func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", hash("x")) }, body, sigv4.ErrBody},
		"date":          {func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") }, body, sigv4.ErrIncomplete},
		"no signature":  {func(r *http.Request) { r.Header.Del("Authorization") }, body, sigv4.ErrMissing},
		"no host signed": {func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "host;", "", 1))
		}, body, sigv4.ErrIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			r := received(t, signed(t))
			tt.change(r)
			if _, err := verify(r, tt.body); !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
		})
	}
}
