package aws

import (
	"context"
	"fmt"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

// TestToken_NeverOutlivesTheCredentialsThatSignedIt signs with credentials that end before
// a token would: the next token is signed with the next credentials.
func TestToken_NeverOutlivesTheCredentialsThatSignedIt(t *testing.T) {
	now := time.Now()
	made, ends := 0, now.Add(5*time.Minute)
	renew := awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		made++
		return awssdk.Credentials{AccessKeyID: fmt.Sprint("ASIA", made), SecretAccessKey: "s", SessionToken: "t", CanExpire: true, Expires: ends}, nil
	})
	clients, err := NewFrom(awssdk.Config{Region: "us-west-2", Credentials: renew}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	source := clients.EKSTokenSource("lab")
	source.now = func() time.Time { return now }
	token := func() (string, time.Time) {
		t.Helper()
		token, expiry, err := source.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return token, expiry
	}
	first, expiry := token()
	if !expiry.Equal(ends) {
		t.Errorf("the token ends at %v, its credentials at %v", expiry, ends)
	}
	now = now.Add(3 * time.Minute)
	if again, _ := token(); again != first {
		t.Error("a token whose credentials last is not used again")
	}
	now = now.Add(90 * time.Second) // half a minute before the credentials end
	ends = now.Add(time.Hour)
	second, expiry := token()
	if second == first {
		t.Error("the token is used although its credentials end")
	}
	if want := now.Add(tokenLifetime); !expiry.Equal(want) {
		t.Errorf("the token of credentials that last ends at %v, want %v", expiry, want)
	}
}
