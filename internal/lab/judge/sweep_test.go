//go:build lab

package judge

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// sweep makes the simulator answer what the contract cases leave out: the
// actions that moto lacks, whole catalogues, unusual things, and refusals. It
// looks at no answer: botocore does.
func sweep(ctx context.Context, w *world) facts {
	sweepIAM(ctx, w)
	sweepWebIdentity(ctx, w)
	sweepEKS(ctx, w)
	sweepPodIdentity(ctx, w)
	sweepPricing(ctx, w)
	sweepCatalogue(ctx, w)
	sweepInstances(ctx, w)
	sweepUnknownActions(ctx, w)
	for _, caller := range []aws.CredentialsProvider{
		stranger(ctx, w),
		credentials.NewStaticCredentialsProvider("AKIAUNKNOWNUNKNOWNXX", "secret", ""),
		credentials.NewStaticCredentialsProvider(need(w.cfg.Credentials.Retrieve(ctx)).AccessKeyID, "wrong", ""),
		aws.AnonymousCredentials{},
	} {
		sweepRefusals(ctx, w.as(caller))
	}
	return nil
}

func sweepIAM(ctx context.Context, w *world) {
	name := aws.String("sweep")
	need(w.createRole(ctx, *name, ec2Trust))
	arn := need(w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: name, PolicyDocument: aws.String(readOnly), Description: aws.String("swept"), Path: aws.String("/sweep/")})).Policy.Arn
	need(w.iam.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String(anyAction)}))
	need(w.iam.ListPolicies(ctx, &iam.ListPoliciesInput{Scope: "Local", MaxItems: aws.Int32(1)}))
	need(w.iam.ListPolicies(ctx, &iam.ListPoliciesInput{Scope: "AWS"}))
	need(w.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: arn}))
	need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name}))
	need(w.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name}))
	need(w.iam.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")}))
	_, _ = w.iam.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")})
	task := need(w.iam.DeleteServiceLinkedRole(ctx, &iam.DeleteServiceLinkedRoleInput{RoleName: aws.String("AWSServiceRoleForEC2Spot")})).DeletionTaskId
	need(w.iam.GetServiceLinkedRoleDeletionStatus(ctx, &iam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task}))
	need(w.iam.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{}))
	need(w.iam.ListInstanceProfileTags(ctx, &iam.ListInstanceProfileTagsInput{InstanceProfileName: aws.String(profile)}))

	provider := aws.String(w.cloud.IAM.SeedOIDCProvider("https://issuer.example/id/SWEEP"))
	need(w.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: provider}))
	_, _ = w.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(*provider + "/none")})
	_, _ = w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: aws.String(workerPolicy)})
}

const anyAction = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`

func sweepWebIdentity(ctx context.Context, w *world) {
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/LAB"},"Action":"sts:AssumeRoleWithWebIdentity"}]}`
	role := need(w.createRole(ctx, "sweep-web", trust)).Role.Arn
	assume := func(audience string, expires time.Duration) (*sts.AssumeRoleWithWebIdentityOutput, error) {
		return w.as(aws.AnonymousCredentials{}).sts.AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: role, RoleSessionName: aws.String("daemon"), WebIdentityToken: aws.String(w.token(audience, expires)),
		})
	}
	need(assume("sts.amazonaws.com", time.Hour))
	_, _ = assume("elsewhere", time.Hour)
	_, _ = assume("sts.amazonaws.com", -time.Hour)
}

// token is a service account's, signed by the cluster's issuer.
func (w *world) token(audience string, expires time.Duration) string {
	claims := need(json.Marshal(map[string]any{"iss": issuer, "sub": "system:serviceaccount:karpenter:karpenter", "aud": []string{audience}, "exp": time.Now().Add(expires).Unix()}))
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(need(rsa.SignPKCS1v15(rand.Reader, w.key, crypto.SHA256, sum[:])))
}

func sweepEKS(ctx context.Context, w *world) {
	name, role := aws.String(cluster), need(w.createRole(ctx, "sweep-entry", ec2Trust)).Role.Arn
	entry := need(w.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: name, PrincipalArn: role, KubernetesGroups: []string{"team"}, Tags: map[string]string{"a": "1"}})).AccessEntry
	need(w.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: name, PrincipalArn: role}))
	need(w.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: name, MaxResults: aws.Int32(1)}))
	need(w.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: entry.AccessEntryArn, Tags: map[string]string{"b": "2"}}))
	for _, in := range []*eks.CreateAccessEntryInput{
		{ClusterName: aws.String("none"), PrincipalArn: role},
		{ClusterName: name, PrincipalArn: role, Type: aws.String("UNKNOWN")},
		{ClusterName: name, PrincipalArn: aws.String("arn:aws:iam::123456789012:role/none")},
		{ClusterName: name, PrincipalArn: role, Type: aws.String("EC2_LINUX"), KubernetesGroups: []string{"team"}},
	} {
		_, _ = w.eks.CreateAccessEntry(ctx, in)
	}
	_, _ = w.eks.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: aws.String("arn:aws:eks:us-west-2:123456789012:cluster/none")})
}

func sweepPodIdentity(ctx context.Context, w *world) {
	name, account := aws.String(cluster), aws.String("sweep")
	role := need(w.createRole(ctx, "sweep-pods", podTrust)).Role.Arn
	in := &eks.CreatePodIdentityAssociationInput{ClusterName: name, Namespace: account, ServiceAccount: account, RoleArn: role, Tags: map[string]string{"a": "1"}}
	made := need(w.eks.CreatePodIdentityAssociation(ctx, in)).Association
	_, _ = w.eks.CreatePodIdentityAssociation(ctx, in)
	need(w.eks.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: name, MaxResults: aws.Int32(1)}))
	need(w.eks.UpdatePodIdentityAssociation(ctx, &eks.UpdatePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId, RoleArn: role, TargetRoleArn: role, DisableSessionTags: aws.Bool(true)}))
	need(w.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId}))
	need(w.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: made.AssociationArn, Tags: map[string]string{"b": "2"}}))
	need(w.eks.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId}))
	_, _ = w.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId})
	for _, bad := range []string{"arn:aws:iam::123456789012:role/none", *need(w.createRole(ctx, "sweep-no-pods", ec2Trust)).Role.Arn} {
		_, _ = w.eks.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{ClusterName: name, Namespace: account, ServiceAccount: account, RoleArn: &bad})
	}
}

func sweepPricing(ctx context.Context, w *world) {
	filters := []pricingtypes.Filter{{Type: pricingtypes.FilterTypeTermMatch, Field: aws.String("regionCode"), Value: aws.String(region)}}
	for p := pricing.NewGetProductsPaginator(w.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters}); p.HasMorePages(); {
		need(p.NextPage(ctx))
	}
	_, _ = w.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonNothing"), Filters: filters})
	_, _ = w.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2")})
}

// sweepCatalogue lists every type, offering and price: each name is in the models' enumerations.
func sweepCatalogue(ctx context.Context, w *world) {
	for p := ec2.NewDescribeInstanceTypesPaginator(w.ec2, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100)}); p.HasMorePages(); {
		need(p.NextPage(ctx))
	}
	for p := ec2.NewDescribeInstanceTypeOfferingsPaginator(w.ec2, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: ec2types.LocationTypeAvailabilityZoneId, MaxResults: aws.Int32(1000)}); p.HasMorePages(); {
		need(p.NextPage(ctx))
	}
	for p := ec2.NewDescribeSpotPriceHistoryPaginator(w.ec2, &ec2.DescribeSpotPriceHistoryInput{StartTime: aws.Time(time.Now()), ProductDescriptions: []string{"Linux/UNIX"}}); p.HasMorePages(); {
		need(p.NextPage(ctx))
	}
	w.cloud.EC2.SeedImage(ec2sim.Image{Name: "windows", Arch: "x86_64", Platform: "windows", Deprecated: time.Now().Add(time.Hour)})
	w.cloud.EC2.SeedImage(ec2sim.Image{Name: "mine", Arch: "arm64", OwnerID: account, RootDevice: "/dev/xvda", RootGiB: 8})
	need(w.ec2.DescribeImages(ctx, nil))
	need(w.ec2.DescribePlacementGroups(ctx, nil))
	w.cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2b", Count: 2, Match: "open", End: time.Now().Add(time.Hour), Tags: map[string]string{"a": "1"}})
	need(w.ec2.DescribeCapacityReservations(ctx, nil))
	_, _ = w.ec2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-0"}})
}

func sweepInstances(ctx context.Context, w *world) {
	need(w.createTemplate(ctx, "lt-sweep"))
	for _, market := range []ec2types.DefaultTargetCapacityType{ec2types.DefaultTargetCapacityTypeSpot, ec2types.DefaultTargetCapacityTypeOnDemand} {
		w.cloud.EC2.SetCapacity(string(market), "m5.large", "us-west-2a", 0)
		need(w.fleet(ctx, "lt-sweep", market, 1, []string{"m5.large@a"}))
		w.cloud.EC2.SetCapacity(string(market), "m5.large", "us-west-2a", 100)
		need(w.fleet(ctx, "lt-sweep", market, 1, []string{"m5.large@a", "m6g.large@a", "m5d.metal@b"}))
	}
	run := need(w.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(2), ImageId: &w.image, InstanceType: ec2types.InstanceTypeG4dnXlarge, EbsOptimized: aws.Bool(true),
		NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &w.subnets[0], Groups: []string{w.group}, AssociatePublicIpAddress: aws.Bool(true)}},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: ec2Tags("a", "1")}, {ResourceType: ec2types.ResourceTypeVolume, Tags: ec2Tags("a", "1")}},
	}))
	w.terminate(ctx, *run.Instances[0].InstanceId)
	reserved := &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &w.image, InstanceType: ec2types.InstanceTypeM5Large, SubnetId: &w.subnets[0],
		CapacityReservationSpecification: &ec2types.CapacityReservationSpecification{
			CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget: &ec2types.CapacityReservationTarget{
				CapacityReservationId: aws.String(w.cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1})),
			},
		},
	}
	need(w.ec2.RunInstances(ctx, reserved))
	_, _ = w.ec2.RunInstances(ctx, reserved) // it is full
	need(w.ec2.DescribeInstances(ctx, nil))
	need(w.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{IncludeAllInstances: aws.Bool(true)}))
	need(w.ec2.DescribeVolumes(ctx, nil))
	need(w.ec2.DescribeNetworkInterfaces(ctx, nil))
	need(w.ec2.DescribeTags(ctx, nil))
	need(w.ec2.DescribeLaunchTemplates(ctx, nil))
}

// stranger is the caller whom nothing is allowed.
func stranger(ctx context.Context, w *world) aws.CredentialsProvider {
	role := need(w.createRole(ctx, "sweep-stranger", anyone)).Role.Arn
	c := need(w.sts.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: role, RoleSessionName: aws.String("test")})).Credentials
	return credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
}

// sweepRefusals asks each service once; the caller is none that may.
func sweepRefusals(ctx context.Context, w *world) {
	_, _ = w.ec2.DescribeSubnets(ctx, nil)
	_, _ = w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{DryRun: aws.Bool(true)})
	_, _ = w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(profile)})
	_, _ = w.sts.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::123456789012:role/nodes"), RoleSessionName: aws.String("test")})
	_, _ = w.sqs.ListQueues(ctx, nil)
	_, _ = w.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("q-create")})
	_, _ = w.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("rule-read")})
	_, _ = w.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(cluster)})
	_, _ = w.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(parameter)})
	_, _ = w.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2")})
}

// sweepUnknownActions asks each service for something that is not simulated.
func sweepUnknownActions(ctx context.Context, w *world) {
	_, _ = w.ec2.DescribeKeyPairs(ctx, nil)
	_, _ = w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(1)})
	_, _ = w.iam.ListUsers(ctx, nil)
	_, _ = w.sts.GetSessionToken(ctx, nil)
	_, _ = w.sts.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("nonsense-of-twenty-characters"), RoleSessionName: aws.String("test")})
	_, _ = w.sqs.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: aws.String("x")})
	_, _ = w.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String("nonsense"), MessageBody: aws.String("x")})
	_, _ = w.events.ListEventBuses(ctx, nil)
	_, _ = w.eks.ListNodegroups(ctx, &eks.ListNodegroupsInput{ClusterName: aws.String(cluster)})
	_, _ = w.ssm.DescribeParameters(ctx, nil)
	_, _ = w.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("nonsense")})
	_, _ = w.pricing.GetAttributeValues(ctx, &pricing.GetAttributeValuesInput{ServiceCode: aws.String("AmazonEC2"), AttributeName: aws.String("x")})
}
