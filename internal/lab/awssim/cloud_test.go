package awssim_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/client"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

const (
	region  = "us-west-2"
	account = "123456789012"
	issuer  = "https://oidc.eks.us-west-2.amazonaws.com/id/LAB"
)

// world is a running cloud with an administrator and an OIDC issuer.
type world struct {
	*awssim.Cloud
	admin aws.Config
	key   *rsa.PrivateKey // of the issuer
}

func start(t *testing.T) *world {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c, err := awssim.New(awssim.Options{Region: region, Account: account, JWKS: func(context.Context) ([]byte, error) { return jwks(key), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w := &world{Cloud: c, key: key}
	w.admin = w.config(c.IAM.SeedUser("deployer", iamsim.AdministratorAccess))
	return w
}

// config makes an SDK configuration that signs with the key and tries once.
func (w *world) config(c iamsim.Credential) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(w.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} }, HTTPClient: client.New(nil),
	}
}

func jwks(key *rsa.PrivateKey) []byte {
	out, err := json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}})
	if err != nil {
		panic(err)
	}
	return out
}

func signToken(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// wantCode fails unless err is the AWS error of that code.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("error is %v, want code %s", err, code)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const ec2Trust = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`

func TestSignature_OnlyKnownKeysThatSignRightAreServed(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	got := must(sts.NewFromConfig(w.admin).GetCallerIdentity(ctx, nil))(t)
	if *got.Arn != "arn:aws:iam::123456789012:user/deployer" || *got.Account != account {
		t.Errorf("caller is %s of %s", *got.Arn, *got.Account)
	}
	good := must(w.admin.Credentials.Retrieve(ctx))(t)
	for name, tt := range map[string]struct {
		change func(*aws.Config)
		code   string
	}{
		"wrong secret": {func(c *aws.Config) {
			c.Credentials = credentials.NewStaticCredentialsProvider(good.AccessKeyID, "wrong", "")
		}, "SignatureDoesNotMatch"},
		"unknown key": {func(c *aws.Config) {
			c.Credentials = credentials.NewStaticCredentialsProvider("AKIAUNKNOWN", good.SecretAccessKey, "")
		}, "InvalidClientTokenId"},
		"session token that is not the key's": {func(c *aws.Config) {
			c.Credentials = credentials.NewStaticCredentialsProvider(good.AccessKeyID, good.SecretAccessKey, "token")
		}, "InvalidClientTokenId"},
		"not signed":   {func(c *aws.Config) { c.Credentials = aws.AnonymousCredentials{} }, "MissingAuthenticationToken"},
		"other region": {func(c *aws.Config) { c.Region = "mars-north-1" }, "SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := w.admin.Copy()
			tt.change(&cfg)
			_, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
			wantCode(t, err, tt.code)
		})
	}
}

func TestIAM_RoleLifeAndItsConflicts(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := iam.NewFromConfig(w.admin)
	name, profile := aws.String("Node"), aws.String("NodeProfile")
	created := must(c.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: name, Path: aws.String("/team/"), AssumeRolePolicyDocument: aws.String(ec2Trust),
		Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	}))(t)
	if got := *created.Role.Arn; got != "arn:aws:iam::123456789012:role/team/Node" {
		t.Errorf("role ARN is %s", got)
	}
	_, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("node"), AssumeRolePolicyDocument: aws.String(ec2Trust)})
	wantCode(t, err, "EntityAlreadyExists")
	_, err = c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("Bad"), AssumeRolePolicyDocument: aws.String(`{"Statement":[]}`)})
	wantCode(t, err, "MalformedPolicyDocument")

	managed := aws.String("arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy")
	must(c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: managed}))(t)
	_, err = c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String("arn:aws:iam::aws:policy/Nothing")})
	wantCode(t, err, "NoSuchEntity")
	must(c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: profile}))(t)
	must(c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: name}))(t)
	_, err = c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: name})
	wantCode(t, err, "LimitExceeded")
	_, err = c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: profile})
	wantCode(t, err, "DeleteConflict")
	_, err = c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})
	wantCode(t, err, "DeleteConflict")

	got := must(c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: profile}))(t)
	if len(got.InstanceProfile.Roles) != 1 || *got.InstanceProfile.Roles[0].RoleName != "Node" {
		t.Errorf("profile has roles %v", got.InstanceProfile.Roles)
	}
	must(c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: profile, RoleName: name}))(t)
	must(c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: profile}))(t)
	_, err = c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})
	wantCode(t, err, "DeleteConflict")
	must(c.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: managed}))(t)
	must(c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}))(t)
	_, err = c.GetRole(ctx, &iam.GetRoleInput{RoleName: name})
	wantCode(t, err, "NoSuchEntity")
}

func TestWebIdentity_EveryPartOfTheTokenMatters(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	provider := w.IAM.SeedOIDCProvider(issuer)
	c := iam.NewFromConfig(w.admin)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"` + provider + `"},"Action":"sts:AssumeRoleWithWebIdentity",
	  "Condition":{"StringEquals":{"oidc.eks.us-west-2.amazonaws.com/id/LAB:aud":"sts.amazonaws.com","oidc.eks.us-west-2.amazonaws.com/id/LAB:sub":"system:serviceaccount:karpenter:karpenter"}}}]}`
	role := must(c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("Controller"), AssumeRolePolicyDocument: &trust}))(t)
	must(c.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName: aws.String("Controller"), PolicyName: aws.String("p"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:GetRole","Resource":"arn:aws:iam::123456789012:role/Controller"}]}`),
	}))(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	anonymous := w.admin.Copy()
	anonymous.Credentials = aws.AnonymousCredentials{}
	assume := func(key *rsa.PrivateKey, change map[string]any) (*sts.AssumeRoleWithWebIdentityOutput, error) {
		claims := map[string]any{
			"iss": issuer, "sub": "system:serviceaccount:karpenter:karpenter", "aud": []string{"sts.amazonaws.com"}, "exp": time.Now().Add(time.Hour).Unix(),
		}
		for k, v := range change {
			claims[k] = v
		}
		return sts.NewFromConfig(anonymous).AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: role.Role.Arn, RoleSessionName: aws.String("daemon"), WebIdentityToken: aws.String(signToken(t, key, claims)),
		})
	}
	for name, tt := range map[string]struct {
		key    *rsa.PrivateKey
		change map[string]any
		code   string
	}{
		"wrong signature": {other, nil, "InvalidIdentityToken"},
		"wrong audience":  {w.key, map[string]any{"aud": "other"}, "InvalidIdentityToken"},
		"wrong issuer":    {w.key, map[string]any{"iss": "https://elsewhere.example"}, "InvalidIdentityToken"},
		"wrong subject":   {w.key, map[string]any{"sub": "system:serviceaccount:default:default"}, "AccessDenied"},
		"expired":         {w.key, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, "ExpiredTokenException"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := assume(tt.key, tt.change)
			wantCode(t, err, tt.code)
		})
	}
	out := must(assume(w.key, nil))(t)
	session := w.config(iamsim.Credential{AccessKeyID: *out.Credentials.AccessKeyId, SecretAccessKey: *out.Credentials.SecretAccessKey, SessionToken: *out.Credentials.SessionToken})
	me := must(sts.NewFromConfig(session).GetCallerIdentity(ctx, nil))(t)
	if *me.Arn != "arn:aws:sts::123456789012:assumed-role/Controller/daemon" {
		t.Errorf("caller is %s", *me.Arn)
	}
	byRole := iam.NewFromConfig(session)
	must(byRole.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("Controller")}))(t)
	_, err = byRole.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("Other")})
	wantCode(t, err, "AccessDenied")

	must(c.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String("Controller"), PolicyName: aws.String("p")}))(t)
	_, err = byRole.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("Controller")})
	wantCode(t, err, "AccessDenied")
	must(c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("Controller")}))(t)
	must(c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("Controller"), AssumeRolePolicyDocument: &trust}))(t)
	_, err = sts.NewFromConfig(session).GetCallerIdentity(ctx, nil)
	wantCode(t, err, "InvalidClientTokenId")
}

func TestFaults_DroppedResponseMeansThatTheActionWasDone(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := iam.NewFromConfig(w.admin)
	w.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreateRole", DropResponse: true, Times: 1})
	in := &iam.CreateRoleInput{RoleName: aws.String("R"), AssumeRolePolicyDocument: aws.String(ec2Trust)}
	if _, err := c.CreateRole(ctx, in); err == nil {
		t.Fatal("the response came through")
	}
	must(c.GetRole(ctx, &iam.GetRoleInput{RoleName: in.RoleName}))(t)
	w.Faults().Inject(awssim.Fault{Service: "iam", Code: "Throttling", Times: 2})
	patient := w.admin.Copy()
	patient.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	}
	must(iam.NewFromConfig(patient).GetRole(ctx, &iam.GetRoleInput{RoleName: in.RoleName}))(t)
	throttled := 0
	for _, call := range w.Calls() {
		if call.ErrorCode == "Throttling" {
			throttled++
		}
	}
	if throttled != 2 {
		t.Errorf("%d calls were throttled, want 2", throttled)
	}
	w.Faults().Inject(awssim.Fault{Service: "sts", Blackhole: true})
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := sts.NewFromConfig(w.admin).GetCallerIdentity(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a swallowed call ended with %v", err)
	}
	w.Faults().Clear()
	must(sts.NewFromConfig(w.admin).GetCallerIdentity(ctx, nil))(t)
}
