package credentials_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
)

const (
	region  = "us-west-2"
	account = "123456789012"
)

// bare takes away what the environment of the test says of AWS.
func bare(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			_ = os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
}

// startCloud starts a simulated AWS, in a bare environment. jwks are the keys of the OIDC
// issuers that it asks.
func startCloud(t *testing.T, jwks ...byte) (*awssim.Cloud, awssim.Credentials) {
	t.Helper()
	bare(t)
	cloud, err := awssim.New(awssim.Options{
		Region: region, Account: account, JWKS: func(context.Context) ([]byte, error) { return jwks, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	_, key := cloud.CreateUser("deployer")
	return cloud, key
}

func load(t *testing.T, s credentials.Settings) awssdk.Config {
	t.Helper()
	sdk, err := credentials.Load(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return sdk
}

// whoAmI asks STS who the configuration's credentials are.
func whoAmI(t *testing.T, sdk awssdk.Config, endpoint string) (string, error) {
	t.Helper()
	out, err := sts.NewFromConfig(sdk, func(o *sts.Options) { o.BaseEndpoint = &endpoint }).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return *out.Arn, nil
}

func wantCaller(t *testing.T, sdk awssdk.Config, endpoint, want string) {
	t.Helper()
	if arn, err := whoAmI(t, sdk, endpoint); err != nil || !strings.HasSuffix(arn, want) {
		t.Errorf("the caller is %q (%v), want %s", arn, err, want)
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func keys(profile string, key awssim.Credentials) string {
	return fmt.Sprintf("[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", profile, key.AccessKeyID, key.SecretAccessKey)
}

func TestLoad_AProfileOfASharedFileGivesRegionAndKeys(t *testing.T) {
	cloud, key := startCloud(t)
	configFile := file(t, "config", "[profile work]\nregion = eu-west-1\n[profile west]\nregion = us-west-2\n")
	credentialsFile := file(t, "credentials", keys("west", key))
	s := credentials.Settings{Profile: "west", ConfigFiles: []string{configFile}, CredentialsFiles: []string{credentialsFile}}
	// Keys of somebody else in the environment do not count beside a profile.
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "other")
	sdk := load(t, s)
	if sdk.Region != "us-west-2" {
		t.Errorf("the region is %q", sdk.Region)
	}
	wantCaller(t, sdk, cloud.URL(), "user/deployer")

	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONFIG_FILE", configFile)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", credentialsFile)
	t.Setenv("AWS_PROFILE", "west")
	wantCaller(t, load(t, credentials.Settings{}), cloud.URL(), "user/deployer")
	t.Setenv("AWS_REGION", "eu-central-1")
	if sdk := load(t, credentials.Settings{}); sdk.Region != "eu-central-1" {
		t.Errorf("AWS_REGION does not come before the profile's region: %q", sdk.Region)
	}
	if sdk := load(t, credentials.Settings{Region: "us-east-1"}); sdk.Region != "us-east-1" {
		t.Errorf("the attribute region does not come first: %q", sdk.Region)
	}
}

func TestLoad_SaysWhatIsMissingWithoutACall(t *testing.T) {
	bare(t)
	configFile := file(t, "config", "[profile there]\nregion = us-west-2\n")
	for name, tt := range map[string]struct {
		settings credentials.Settings
		env      string
		want     error
		parts    []string
	}{
		"no region":                  {settings: credentials.Settings{}, want: credentials.ErrRegion},
		"no such profile":            {settings: credentials.Settings{Region: region, Profile: "prod", ConfigFiles: []string{configFile}}, want: credentials.ErrProfile, parts: []string{`"prod"`, "the attribute profile", configFile}},
		"profile of the environment": {settings: credentials.Settings{Region: region}, env: "stage", want: credentials.ErrProfile, parts: []string{`"stage"`, "AWS_PROFILE"}},
		"no configuration":           {settings: credentials.Settings{Region: region, ConfigFiles: []string{"/nonexistent"}}, want: credentials.ErrFile, parts: []string{"shared_config_files", "/nonexistent"}},
		"no credentials":             {settings: credentials.Settings{Region: region, CredentialsFiles: []string{"/nonexistent"}}, want: credentials.ErrFile, parts: []string{"shared_credentials_files", "/nonexistent"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("AWS_PROFILE", tt.env)
			}
			_, err := credentials.Load(t.Context(), tt.settings)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			for _, part := range tt.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q: %v", part, err)
				}
			}
		})
	}
}

// recorder is an STS that gives credentials to everybody and keeps what was asked.
type recorder struct {
	mu       sync.Mutex
	asked    []url.Values
	lifetime time.Duration
	status   int // of the answers, if not 0
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_ = request.ParseForm()
	r.mu.Lock()
	defer r.mu.Unlock()
	form := request.Form
	form.Set("signed by", request.Header.Get("Authorization"))
	r.asked = append(r.asked, form)
	if r.status != 0 {
		w.WriteHeader(r.status)
		_, _ = fmt.Fprint(w, `<ErrorResponse><Error><Code>ServiceUnavailable</Code><Message>busy</Message></Error></ErrorResponse>`)
		return
	}
	action := form.Get("Action")
	_, _ = fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Arn>arn:aws:sts::%[4]s:x</Arn><Account>%[4]s</Account><Credentials><AccessKeyId>ASIA%[2]d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
		action, len(r.asked), time.Now().Add(r.lifetime).UTC().Format(time.RFC3339), account)
}

func (r *recorder) forms() []url.Values {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func startRecorder(t *testing.T, lifetime time.Duration) (*recorder, string) {
	t.Helper()
	bare(t)
	r := &recorder{lifetime: lifetime}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func TestCredentials_ARoleIsAssumedWithEveryParameterAndWithTheRoleBefore(t *testing.T) {
	sim, endpoint := startRecorder(t, time.Hour)
	sdk := load(t, credentials.Settings{
		Region: region, AccessKey: "AKIA", SecretKey: "s", STSEndpoint: endpoint,
		Roles: []credentials.Role{
			{
				ARN: "arn:aws:iam::123456789012:role/first", SessionName: "tf", ExternalID: "ext", Duration: 30 * time.Minute, Policy: `{}`,
				PolicyARNs: []string{"arn:aws:iam::aws:policy/ReadOnlyAccess"}, Tags: map[string]string{"team": "a"}, TransitiveTagKeys: []string{"team"}, SourceIdentity: "me",
			},
			{ARN: "arn:aws:iam::123456789012:role/second"},
		},
	})
	if len(sim.forms()) != 0 {
		t.Fatalf("Load asked STS: %v", sim.forms())
	}
	if _, err := sdk.Credentials.Retrieve(t.Context()); err != nil {
		t.Fatal(err)
	}
	forms := sim.forms()
	first, second := forms[0], forms[len(forms)-1]
	for name, want := range map[string]string{
		"Action": "AssumeRole", "RoleArn": "arn:aws:iam::123456789012:role/first", "RoleSessionName": "tf", "ExternalId": "ext", "DurationSeconds": "1800", "Policy": "{}",
		"PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/ReadOnlyAccess", "Tags.member.1.Key": "team", "Tags.member.1.Value": "a",
		"TransitiveTagKeys.member.1": "team", "SourceIdentity": "me",
	} {
		if got := first.Get(name); got != want {
			t.Errorf("%s of the first role is %q, want %q", name, got, want)
		}
	}
	if second.Get("RoleArn") != "arn:aws:iam::123456789012:role/second" || !strings.Contains(second.Get("signed by"), "Credential=ASIA") {
		t.Errorf("the second role is not assumed with the credentials of the first: %v", second)
	}
}

func TestCredentials_AWebIdentityIsReadFromItsFileAndRolesComeAfterIt(t *testing.T) {
	sim, endpoint := startRecorder(t, time.Hour)
	s := credentials.Settings{Region: region, STSEndpoint: endpoint, Roles: []credentials.Role{{ARN: "arn:aws:iam::123456789012:role/second"}}}
	s.WebIdentity = &credentials.WebIdentity{SessionName: "ci"}
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/web")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file(t, "token", "a.b.c"))
	if _, err := load(t, s).Credentials.Retrieve(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := sim.forms()[0], sim.forms()[len(sim.forms())-1]
	if first.Get("Action") != "AssumeRoleWithWebIdentity" || first.Get("WebIdentityToken") != "a.b.c" || first.Get("RoleArn") != "arn:aws:iam::123456789012:role/web" || first.Get("RoleSessionName") != "ci" {
		t.Errorf("asked for %v", first)
	}
	if second.Get("RoleArn") != "arn:aws:iam::123456789012:role/second" {
		t.Errorf("asked for %v", second)
	}
}

// issuer signs tokens of an OIDC issuer; jwks are its published keys.
func issuer(t *testing.T) (sign func(claims string) string, jwks []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	jwks = fmt.Appendf(nil, `{"keys":[{"kty":"RSA","kid":"k","n":%q,"e":%q}]}`, encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes()))
	return func(claims string) string {
		signed := encode([]byte(`{"alg":"RS256","kid":"k"}`)) + "." + encode([]byte(claims))
		digest := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return signed + "." + encode(signature)
	}, jwks
}

func TestCredentials_AWebIdentityIsWhomTheTrustPolicyNames(t *testing.T) {
	sign, jwks := issuer(t)
	cloud, key := startCloud(t, jwks...)
	provider := cloud.IAM.SeedOIDCProvider("https://ci.example.com")
	admin := iam.NewFromConfig(load(t, credentials.Settings{Region: region, AccessKey: key.AccessKeyID, SecretKey: key.SecretAccessKey}),
		func(o *iam.Options) { url := cloud.URL(); o.BaseEndpoint = &url })
	role, err := admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: awssdk.String("ci"), AssumeRolePolicyDocument: awssdk.String(fmt.Sprintf(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":%q},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"ci.example.com:sub":"repo:us"}}}]}`, provider))})
	if err != nil {
		t.Fatal(err)
	}
	of := func(subject string) awssdk.Config {
		token := sign(fmt.Sprintf(`{"iss":"https://ci.example.com","sub":%q,"aud":"sts.amazonaws.com","exp":%d}`, subject, time.Now().Add(time.Hour).Unix()))
		return load(t, credentials.Settings{Region: region, STSEndpoint: cloud.URL(), WebIdentity: &credentials.WebIdentity{ARN: *role.Role.Arn, SessionName: "job", Token: token}})
	}
	wantCaller(t, of("repo:us"), cloud.URL(), "assumed-role/ci/job")
	if _, err := whoAmI(t, of("repo:them"), cloud.URL()); !errors.Is(err, credentials.ErrAssumeRole) {
		t.Errorf("got %v", err)
	}
}

func TestCredentials_AreRenewedBeforeTheyEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		lifetime time.Duration
		renewed  bool
	}{"an hour is kept": {time.Hour, false}, "thirty seconds are renewed at once": {30 * time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := startRecorder(t, tt.lifetime)
			sdk := load(t, credentials.Settings{
				Region: region, AccessKey: "AKIA", SecretKey: "s", STSEndpoint: endpoint, Roles: []credentials.Role{{ARN: "arn:aws:iam::123456789012:role/r"}},
			})
			first, err := sdk.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			asked := len(sim.forms())
			second, err := sdk.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if renewed := len(sim.forms()) > asked && second.AccessKeyID != first.AccessKeyID; renewed != tt.renewed {
				t.Errorf("renewed: %v, want %v", renewed, tt.renewed)
			}
		})
	}
}

func TestCredentials_ARefusedRoleSaysSo(t *testing.T) {
	cloud, key := startCloud(t)
	sdk := load(t, credentials.Settings{
		Region: region, AccessKey: key.AccessKeyID, SecretKey: key.SecretAccessKey, STSEndpoint: cloud.URL(),
		Roles: []credentials.Role{{ARN: "arn:aws:iam::123456789012:role/missing"}},
	})
	_, err := sdk.Credentials.Retrieve(t.Context())
	var api smithy.APIError
	if !errors.Is(err, credentials.ErrAssumeRole) || !errors.As(err, &api) || api.ErrorCode() != "AccessDenied" {
		t.Errorf("got %v", err)
	}
}

func TestCredentials_NoneIsAnErrorOfTheFirstCall(t *testing.T) {
	bare(t)
	sdk := load(t, credentials.Settings{Region: region})
	if _, err := sdk.Credentials.Retrieve(t.Context()); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestRetries_AreCountedAsTheSettingsSay(t *testing.T) {
	for name, tt := range map[string]struct {
		settings credentials.Settings
		env      string
		want     int
	}{
		"one attempt":         {settings: credentials.Settings{MaxAttempts: 1}, want: 1},
		"three attempts":      {settings: credentials.Settings{MaxAttempts: 3, RetryMode: "adaptive"}, want: 3},
		"by the environment":  {env: "2", want: 2},
		"settings come first": {settings: credentials.Settings{MaxAttempts: 1}, env: "2", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := startRecorder(t, time.Hour)
			sim.status = http.StatusServiceUnavailable
			if tt.env != "" {
				t.Setenv("AWS_MAX_ATTEMPTS", tt.env)
			}
			tt.settings.Region, tt.settings.AccessKey, tt.settings.SecretKey = region, "AKIA", "s"
			if _, err := whoAmI(t, load(t, tt.settings), endpoint); err == nil {
				t.Fatal("a busy STS is no error")
			}
			if got := len(sim.forms()); got != tt.want {
				t.Errorf("%d attempts, want %d", got, tt.want)
			}
		})
	}
}

func TestProxy_SeesTheRequests(t *testing.T) {
	cloud, key := startCloud(t)
	target, err := url.Parse(cloud.URL())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var hosts []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hosts = append(hosts, r.URL.Host)
		mu.Unlock()
		r.URL.Host = target.Host // the name below leads nowhere: only the proxy knows it
		cloud.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	s := credentials.Settings{Region: region, AccessKey: key.AccessKeyID, SecretKey: key.SecretAccessKey, HTTPProxy: &proxy.URL, MaxAttempts: 1}
	wantCaller(t, load(t, s), "http://aws.test", "user/deployer")
	if !slices.Contains(hosts, "aws.test") {
		t.Errorf("the proxy saw %v", hosts)
	}
	s.NoProxy = "aws.test"
	before := len(hosts)
	if _, err := whoAmI(t, load(t, s), "http://aws.test"); err == nil || len(hosts) != before {
		t.Errorf("no_proxy does not count: %v, %v", err, hosts)
	}
}

func TestLoad_EndpointsAreThoseOfTheSettingsThenOfTheEnvironment(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		settings   credentials.Settings
		env        string
		fips, dual bool
	}{
		"neither":       {credentials.Settings{}, "", false, false},
		"settings":      {credentials.Settings{FIPS: &yes, DualStack: &yes}, "", true, true},
		"environment":   {credentials.Settings{}, "true", true, true},
		"settings rule": {credentials.Settings{FIPS: &no, DualStack: &no}, "true", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			bare(t)
			t.Setenv("AWS_USE_FIPS_ENDPOINT", c.env)
			t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", c.env)
			c.settings.Region = region
			clients, err := aws.NewFrom(load(t, c.settings), aws.Config{})
			if err != nil || clients.UsesFIPS() != c.fips || clients.UsesDualStack() != c.dual {
				t.Errorf("FIPS %v, dual-stack %v, %v", clients.UsesFIPS(), clients.UsesDualStack(), err)
			}
		})
	}
}
