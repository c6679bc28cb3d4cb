package aws_test

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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

const clusterARN = "arn:aws:eks:us-west-2:123456789012:cluster/lab"

// podRole makes a role that the service account's pods may have.
func podRole(t *testing.T, c *aws.Clients, name, serviceAccount string) string {
	t.Helper()
	return try[aws.Role](t)(c.CreateRole(t.Context(), aws.Role{
		Name: name, TrustPolicy: awsspec.PodIdentityTrust(clusterARN, "karpenter", serviceAccount), InlinePolicies: map[string]string{"p": document("ec2:DescribeSubnets")},
	})).ARN
}

func TestSim_PodAssociationLife(t *testing.T) {
	cloud, c := start(t)
	ctx := t.Context()
	want := aws.PodAssociation{Cluster: "lab", Namespace: "karpenter", ServiceAccount: "daemon", RoleARN: "arn:aws:iam::123456789012:role/one", Tags: map[string]string{"a": "1", "b": "2"}}
	if _, err := c.CreatePodAssociation(ctx, want); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("of an unknown cluster: %v", err)
	}
	cloud.CreateCluster(ekssim.Cluster{Name: "lab"})
	if _, err := c.CreatePodAssociation(ctx, want); err == nil || !strings.Contains(err.Error(), "still failing after 200ms") {
		t.Errorf("of an unknown role: %v", err)
	}
	one, two := podRole(t, c, "one", "daemon"), podRole(t, c, "two", "daemon")
	made := try[aws.PodAssociation](t)(c.CreatePodAssociation(ctx, want))
	if made.RoleARN != one || made.ID == "" || made.Tags["a"] != "1" || !strings.HasSuffix(made.ARN, ":podidentityassociation/lab/"+made.ID) {
		t.Errorf("made %+v", made)
	}
	if _, err := c.CreatePodAssociation(ctx, want); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second one: %v", err)
	}
	changed := made
	changed.RoleARN, changed.Tags = two, map[string]string{"a": "changed"}
	have := try[aws.PodAssociation](t)(c.UpdatePodAssociation(ctx, made, changed))
	if have.RoleARN != two || len(have.Tags) != 1 || have.Tags["a"] != "changed" || have.ID != made.ID {
		t.Errorf("changed %+v", have)
	}
	if found := try[aws.PodAssociation](t)(c.FindPodAssociation(ctx, "lab", "karpenter", "daemon")); found.ID != made.ID {
		t.Errorf("found %+v", found)
	}
	for range 2 {
		if err := c.DeletePodAssociation(ctx, "lab", made.ID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := c.FindPodAssociation(ctx, "lab", "karpenter", "daemon"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
}

// TestSim_AnAssociationNeedsARoleThatTrustsThePods uses roles for IRSA, for another service
// account and without sts:TagSession.
func TestSim_AnAssociationNeedsARoleThatTrustsThePods(t *testing.T) {
	cloud, c := start(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "lab"})
	trust := awsspec.PodIdentityTrust(clusterARN, "karpenter", "daemon")
	for name, text := range map[string]string{
		"ec2": awsspec.NodeTrust("aws"), "other account": awsspec.PodIdentityTrust(clusterARN, "karpenter", "other"),
		"other cluster": awsspec.PodIdentityTrust(clusterARN+"-2", "karpenter", "daemon"), "untagged": strings.Replace(trust, `,"sts:TagSession"`, "", 1),
	} {
		role := try[aws.Role](t)(c.CreateRole(t.Context(), aws.Role{Name: strings.ReplaceAll(name, " ", "-"), TrustPolicy: text}))
		_, err := c.CreatePodAssociation(t.Context(), aws.PodAssociation{Cluster: "lab", Namespace: "karpenter", ServiceAccount: "daemon", RoleARN: role.ARN})
		if err == nil || !strings.Contains(err.Error(), "Trust policy of the role provided is invalid") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// issuer signs tokens of service accounts as a cluster does.
type issuer struct {
	url string
	key *rsa.PrivateKey
}

// token is a token of a service account's pod for the audience.
func (i issuer) token(t *testing.T, serviceAccount, audience string) string {
	t.Helper()
	claims := try[[]byte](t)(json.Marshal(map[string]any{
		"iss": i.url, "sub": "system:serviceaccount:karpenter:" + serviceAccount, "aud": []string{audience}, "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "karpenter", "serviceaccount": map[string]string{"name": serviceAccount}, "pod": map[string]string{"name": "daemon-0", "uid": "1"}},
	}))
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(try[[]byte](t)(rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])))
}

func (i issuer) jwks(context.Context) ([]byte, error) {
	return json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "k1", "n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
}

// TestPodIdentity_ClientsGetTheAssociatedRoleFromTheAgent takes credentials as the SDK takes
// them in a pod: from the agent's address, with the token in a file.
func TestPodIdentity_ClientsGetTheAssociatedRoleFromTheAgent(t *testing.T) {
	by := issuer{"https://oidc.eks.us-west-2.amazonaws.com/id/LAB", try[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))}
	cloud, admin := awstest.Start(t, awssim.Options{JWKS: by.jwks})
	cloud.CreateCluster(ekssim.Cluster{Name: "lab", Issuer: by.url})
	role := podRole(t, admin, "daemon", "daemon")
	try[aws.PodAssociation](t)(admin.CreatePodAssociation(t.Context(), aws.PodAssociation{Cluster: "lab", Namespace: "karpenter", ServiceAccount: "daemon", RoleARN: role}))
	agent := try[*awssim.PodIdentityAgent](t)(cloud.StartPodIdentityAgent("lab"))
	t.Cleanup(func() { _ = agent.Close() })

	file := filepath.Join(t.TempDir(), "token")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL)
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
	// as gives the identity of new clients with the token.
	as := func(token string) (aws.Identity, error) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		c := try[*aws.Clients](t)(aws.New(t.Context(), aws.Config{Region: region, Propagation: 200 * time.Millisecond}))
		return c.Identity(t.Context())
	}
	got, err := as(by.token(t, "daemon", "pods.eks.amazonaws.com"))
	if err != nil || !strings.Contains(got.ARN, ":assumed-role/daemon/eks-lab-daemon-") {
		t.Fatalf("identity %+v, %v", got, err)
	}
	for name, tt := range map[string]struct{ token, want string }{
		"another service account": {by.token(t, "other", "pods.eks.amazonaws.com"), "no association"},
		"a token for STS":         {by.token(t, "daemon", "sts.amazonaws.com"), "audience"},
		"no token":                {"nonsense", "valid JWT"},
		"another issuer":          {issuer{"https://elsewhere", by.key}.token(t, "daemon", "pods.eks.amazonaws.com"), "issuer"},
	} {
		if got, err := as(tt.token); !errors.Is(err, aws.ErrCredentials) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: identity %+v, %v, want an error with %q", name, got, err, tt.want)
		}
	}
	if _, err := admin.UpdateRole(t.Context(), aws.Role{Name: "daemon"}, aws.Role{Name: "daemon", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	if _, err := as(by.token(t, "daemon", "pods.eks.amazonaws.com")); err == nil || !strings.Contains(err.Error(), "sts:TagSession") {
		t.Errorf("of a role that no longer trusts EKS: %v", err)
	}
}

func TestSim_ServiceLinkedRoleLife(t *testing.T) {
	cloud, c := start(t)
	const service, name = "spot.amazonaws.com", "AWSServiceRoleForEC2Spot"
	if _, err := c.GetServiceLinkedRole(t.Context(), service, name); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	made := try[aws.Role](t)(c.CreateServiceLinkedRole(t.Context(), service, name))
	if made.Name != name || made.ARN != "arn:aws:iam::123456789012:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot" || made.ID == "" {
		t.Errorf("made %+v", made)
	}
	if _, err := c.CreateServiceLinkedRole(t.Context(), service, name); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second one: %v", err)
	}
	if err := c.DeleteServiceLinkedRole(t.Context(), service, name, "AROAOTHER"); err != nil {
		t.Error(err)
	}
	try[aws.Role](t)(c.GetServiceLinkedRole(t.Context(), service, name))
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreateServiceLinkedRole", DropResponse: true, Times: 1})
	for range 2 {
		if err := c.DeleteServiceLinkedRole(t.Context(), service, name, made.ID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if again := try[aws.Role](t)(c.CreateServiceLinkedRole(t.Context(), service, name)); again.ID == made.ID {
		t.Error("the answer that was lost is not found again")
	}
}

// TestSim_ServiceLinkedRoleStaysWhileSpotInstancesNeedIt has IAM refuse the deletion after it
// has accepted the call.
func TestSim_ServiceLinkedRoleStaysWhileSpotInstancesNeedIt(t *testing.T) {
	cloud, c := start(t)
	made := try[aws.Role](t)(c.CreateServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName))
	launched := launchOne(t, cloud, c)
	err := c.DeleteServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName, made.ID)
	if !errors.Is(err, aws.ErrInUse) || !strings.Contains(err.Error(), launched.InstanceID) {
		t.Errorf("delete: %v", err)
	}
	if have := try[aws.Role](t)(c.GetServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName)); have.ID != made.ID {
		t.Errorf("the role is %+v", have)
	}
}
