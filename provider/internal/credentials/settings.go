package credentials

import (
	"cmp"
	"os"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsbase "github.com/hashicorp/aws-sdk-go-base/v2"
	"github.com/hashicorp/aws-sdk-go-base/v2/logging"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// Settings are the provider's attributes. A zero value stands for an attribute that is
// not set: then the environment counts, and after it the profile.
type Settings struct {
	Region                        string
	Profile                       string
	ConfigFiles, CredentialsFiles []string // ~/ is the home directory
	AccessKey, SecretKey, Token   string
	Roles                         []Role // assumed one after the other
	WebIdentity                   *WebIdentity
	MaxAttempts                   int           // of one call, the first included
	MaxBackoff                    time.Duration // longest pause between two tries of a call; 0: ten seconds
	RetryMode                     string        // standard or adaptive
	HTTPProxy, HTTPSProxy         *string
	NoProxy                       string
	STSEndpoint, STSRegion        string // where roles are assumed
	FIPS, DualStack               *bool  // whether such endpoints are called
	UserAgent                     string // product/version
}

// Role is a role to assume with the credentials before it.
type Role struct {
	ARN, SessionName, ExternalID, Policy, SourceIdentity string
	Duration                                             time.Duration // 0: one hour
	PolicyARNs                                           []string
	Tags                                                 map[string]string
	TransitiveTagKeys                                    []string
}

// WebIdentity is a role to assume with an OIDC token.
type WebIdentity struct {
	ARN, SessionName, Token, TokenFile, Policy string
	Duration                                   time.Duration // 0: one hour
	PolicyARNs                                 []string
}

// The environment variables that give the same to the AWS provider's
// assume_role_with_web_identity.
const (
	EnvRoleARN     = "AWS_ROLE_ARN"
	EnvSessionName = "AWS_ROLE_SESSION_NAME"
	EnvTokenFile   = "AWS_WEB_IDENTITY_TOKEN_FILE" //nolint:gosec // the name of a variable, not a secret
)

// base is s for aws-sdk-go-base, which calls AWS in the region.
func (s Settings) base(region string) awsbase.Config {
	c := awsbase.Config{
		Region: region, Profile: s.Profile, SharedConfigFiles: s.ConfigFiles, SharedCredentialsFiles: s.CredentialsFiles,
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, Token: s.Token,
		HTTPProxy: s.HTTPProxy, HTTPSProxy: s.HTTPSProxy, NoProxy: s.NoProxy,
		MaxRetries: cmp.Or(s.MaxAttempts, aws.MaxAttempts), MaxBackoff: aws.MaxBackoff, RetryMode: awssdk.RetryMode(s.RetryMode),
		StsEndpoint: cmp.Or(s.STSEndpoint, os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL")), StsRegion: s.STSRegion,
		UseFIPSEndpoint: s.FIPS != nil && *s.FIPS, UseDualStackEndpoint: s.DualStack != nil && *s.DualStack,
		SkipCredsValidation: true, SkipRequestingAccountId: true,
		CallerName: "The provider", CallerDocumentationURL: "https://registry.terraform.io/providers/karpenterd/karpenter/latest/docs",
		Logger: logging.TfLogger(""),
		// The log of requests and answers would have web identity and session tokens.
		SuppressDebugLog: true,
	}
	for _, r := range s.Roles {
		c.AssumeRole = append(c.AssumeRole, awsbase.AssumeRole{
			RoleARN: r.ARN, SessionName: r.SessionName, ExternalID: r.ExternalID, Policy: r.Policy, SourceIdentity: r.SourceIdentity,
			Duration: r.Duration, PolicyARNs: r.PolicyARNs, Tags: r.Tags, TransitiveTagKeys: r.TransitiveTagKeys,
		})
	}
	if w := s.WebIdentity; w != nil {
		c.AssumeRoleWithWebIdentity = &awsbase.AssumeRoleWithWebIdentity{
			RoleARN: cmp.Or(w.ARN, os.Getenv(EnvRoleARN)), SessionName: cmp.Or(w.SessionName, os.Getenv(EnvSessionName)),
			WebIdentityToken: w.Token, Policy: w.Policy, Duration: w.Duration, PolicyARNs: w.PolicyARNs,
		}
		if w.Token == "" {
			c.AssumeRoleWithWebIdentity.WebIdentityTokenFile = cmp.Or(w.TokenFile, os.Getenv(EnvTokenFile))
		}
	}
	return c
}
