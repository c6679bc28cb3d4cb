package awssim_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

func tags(pairs ...string) []iamtypes.Tag {
	var out []iamtypes.Tag
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, iamtypes.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

// The statements of Karpenter's own IAM policy for instance profiles.
const profilePolicy = `{"Version":"2012-10-17","Statement":[
 {"Effect":"Allow","Action":["iam:CreateInstanceProfile"],"Resource":"arn:aws:iam::123456789012:instance-profile/*","Condition":{
   "StringEquals":{"aws:RequestTag/kubernetes.io/cluster/lab":"owned"},"StringLike":{"aws:RequestTag/karpenter.k8s.aws/ec2nodeclass":"*"}}},
 {"Effect":"Allow","Action":["iam:TagInstanceProfile"],"Resource":"arn:aws:iam::123456789012:instance-profile/*","Condition":{
   "StringEquals":{"aws:ResourceTag/kubernetes.io/cluster/lab":"owned","aws:RequestTag/kubernetes.io/cluster/lab":"owned"}}},
 {"Effect":"Allow","Action":["iam:AddRoleToInstanceProfile","iam:DeleteInstanceProfile"],"Resource":"arn:aws:iam::123456789012:instance-profile/*","Condition":{
   "StringEquals":{"aws:ResourceTag/kubernetes.io/cluster/lab":"owned"}}},
 {"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::123456789012:role/Node","Condition":{"StringEquals":{"iam:PassedToService":["ec2.amazonaws.com"]}}}]}`

func TestIAM_TagsDecideWhatAControllerMayDo(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	admin := iam.NewFromConfig(w.admin)
	for _, name := range []string{"Node", "Other"} {
		must(admin.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(ec2Trust)}))(t)
	}
	c := iam.NewFromConfig(w.role(t, "Controller", profilePolicy))
	create := func(name string, tags []iamtypes.Tag) error {
		_, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Tags: tags})
		return err
	}
	wantCode(t, create("a", nil), "AccessDenied")
	wantCode(t, create("a", tags("kubernetes.io/cluster/lab", "shared", "karpenter.k8s.aws/ec2nodeclass", "c")), "AccessDenied")
	if err := create("a", tags("kubernetes.io/cluster/lab", "owned", "karpenter.k8s.aws/ec2nodeclass", "c")); err != nil {
		t.Fatal(err)
	}
	must(admin.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("foreign")}))(t)
	add := func(profile, role string) error {
		_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
		return err
	}
	wantCode(t, add("foreign", "Node"), "AccessDenied")
	wantCode(t, add("a", "Other"), "AccessDenied")
	if err := add("a", "Node"); err != nil {
		t.Error(err)
	}
	_, err := c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String("foreign")})
	wantCode(t, err, "AccessDenied")
}

func TestIAM_ManagedPolicyVersionsAndLimits(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := iam.NewFromConfig(w.admin)
	document := aws.String(allowing("iam:ListRoles"))
	arn := must(c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("P"), PolicyDocument: document, Tags: tags("a", "1")}))(t).Policy.Arn
	_, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("p"), PolicyDocument: document})
	wantCode(t, err, "EntityAlreadyExists")
	large := strings.Replace(allowing("iam:ListRoles"), "iam:ListRoles", "iam:"+strings.Repeat("x", 6200), 1)
	_, err = c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("Large"), PolicyDocument: &large})
	wantCode(t, err, "LimitExceeded")
	for range 4 {
		must(c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: document}))(t)
	}
	_, err = c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: document})
	wantCode(t, err, "LimitExceeded")
	_, err = c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn})
	wantCode(t, err, "DeleteConflict")
	got := must(c.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: arn, VersionId: aws.String("v1")}))(t).PolicyVersion
	if text, err := url.QueryUnescape(*got.Document); err != nil || text != *document || !got.IsDefaultVersion {
		t.Errorf("version is %+v, %v", got, err)
	}
	for _, id := range []string{"v2", "v3", "v4", "v5"} {
		must(c.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: arn, VersionId: &id}))(t)
	}
	must(c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))(t)
	_, err = c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: aws.String("arn:aws:iam::aws:policy/AdministratorAccess")})
	wantCode(t, err, "AccessDenied")
}

func TestIAM_BoundaryLimitsAndDenyWins(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	admin := iam.NewFromConfig(w.admin)
	role := iam.NewFromConfig(w.role(t, "R", allowing("iam:*")))
	list := func() error {
		_, err := role.ListRoles(ctx, nil)
		return err
	}
	if err := list(); err != nil {
		t.Fatal(err)
	}
	boundary := must(admin.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("B"), PolicyDocument: aws.String(allowing("iam:GetRole"))}))(t).Policy.Arn
	must(admin.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: aws.String("R"), PermissionsBoundary: boundary}))(t)
	wantCode(t, list(), "AccessDenied")
	must(role.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("R")}))(t)
	must(admin.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: aws.String("R")}))(t)
	deny := strings.Replace(allowing("iam:List*"), "Allow", "Deny", 1)
	must(admin.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("R"), PolicyName: aws.String("deny"), PolicyDocument: &deny}))(t)
	wantCode(t, list(), "AccessDenied")
}

func TestIAM_ListsComeInPages(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := iam.NewFromConfig(w.admin)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		must(c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: aws.String("/p/")}))(t)
	}
	must(c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("x")}))(t)
	var names []string
	pages := iam.NewListInstanceProfilesPaginator(c, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/p/"), MaxItems: aws.Int32(2)})
	for pages.HasMorePages() {
		for _, p := range must(pages.NextPage(ctx))(t).InstanceProfiles {
			names = append(names, *p.InstanceProfileName)
		}
	}
	if strings.Join(names, "") != "abcde" {
		t.Errorf("pages gave %v", names)
	}
}

// clock is a clock that can be moved.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func startAt(t *testing.T, c *clock) *world {
	t.Helper()
	cloud, err := awssim.New(awssim.Options{Region: region, Account: account, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	w := &world{Cloud: cloud}
	w.admin = w.config(cloud.IAM.SeedUser("deployer", iamsim.AdministratorAccess))
	return w
}

func TestSignature_ClockSkewAndExpiredSessionsAreRefused(t *testing.T) {
	c := &clock{}
	w := startAt(t, c)
	ctx := context.Background()
	c.offset.Store(int64(10 * time.Minute))
	_, err := sts.NewFromConfig(w.admin).GetCallerIdentity(ctx, nil)
	wantCode(t, err, "SignatureDoesNotMatch")
	c.offset.Store(0)
	must(iam.NewFromConfig(w.admin).CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("R"), AssumeRolePolicyDocument: aws.String(ec2Trust)}))(t)
	role, ok := w.IAM.Role("arn:aws:iam::123456789012:role/R")
	if !ok {
		t.Fatal("the role is not there")
	}
	c.offset.Store(-int64(2 * time.Hour))
	old := w.IAM.IssueSession(role, "old", time.Hour)
	c.offset.Store(0)
	_, err = sts.NewFromConfig(w.config(old)).GetCallerIdentity(ctx, nil)
	wantCode(t, err, "ExpiredToken")
}

func TestIAM_WithADelayTheCloudSeesChangesLater(t *testing.T) {
	c := &clock{}
	w := startAt(t, c)
	ctx := context.Background()
	roles := iam.NewFromConfig(w.admin)
	w.IAM.SetPropagationDelay(time.Minute)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:user/deployer"},"Action":"sts:AssumeRole"}]}`
	arn := must(roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("R"), AssumeRolePolicyDocument: &trust}))(t).Role.Arn
	must(roles.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("R")}))(t)
	assume := func() error {
		_, err := sts.NewFromConfig(w.admin).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: arn, RoleSessionName: aws.String("test")})
		return err
	}
	wantCode(t, assume(), "AccessDenied")
	c.offset.Store(int64(2 * time.Minute)) // within the skew that signatures are allowed
	if err := assume(); err != nil {
		t.Errorf("after the delay: %v", err)
	}
}

func TestIAM_KnowsWhichActionsAPrincipalWasAllowed(t *testing.T) {
	w := start(t)
	seedCluster(w)
	c := eks.NewFromConfig(w.role(t, "Lister", allowing("eks:ListAddons")))
	for range 2 {
		must(c.ListAddons(t.Context(), &eks.ListAddonsInput{ClusterName: aws.String("lab")}))(t)
	}
	_, err := c.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("lab")})
	wantCode(t, err, "AccessDeniedException")
	if used := w.IAM.Used("arn:aws:iam::123456789012:role/Lister"); !slices.Equal(used, []string{"eks:ListAddons"}) {
		t.Errorf("used: %v", used)
	}
}
