//go:build lab

package judge

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/client"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

const (
	region    = "us-west-2"
	account   = "123456789012"
	cluster   = "lab"
	parameter = "/lab/image"
	profile   = "nodes" // instance profile with the role of the same name
	groupRole = "arn:aws:iam::123456789012:role/group"
	issuer    = "https://oidc.eks.us-west-2.amazonaws.com/id/LAB"
	ec2Trust  = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
)

func zones() []string { return []string{region + "a", region + "b", region + "c"} }

// clients are the SDK's clients of one implementation, for one caller.
type clients struct {
	cfg     aws.Config
	ec2     *ec2.Client
	iam     *iam.Client
	sts     *sts.Client
	sqs     *sqs.Client
	events  *eventbridge.Client
	eks     *eks.Client
	ssm     *ssm.Client
	pricing *pricing.Client
}

// connect makes clients that try once; a nil transport is the default one.
func connect(url string, caller aws.CredentialsProvider, transport http.RoundTripper) clients {
	cfg := aws.Config{
		Region: region, BaseEndpoint: &url, Credentials: caller, HTTPClient: client.New(transport),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	return clients{
		cfg: cfg, ec2: ec2.NewFromConfig(cfg), iam: iam.NewFromConfig(cfg), sts: sts.NewFromConfig(cfg), sqs: sqs.NewFromConfig(cfg),
		events: eventbridge.NewFromConfig(cfg), eks: eks.NewFromConfig(cfg), ssm: ssm.NewFromConfig(cfg),
		pricing: pricing.NewFromConfig(cfg, func(o *pricing.Options) { o.Region = "us-east-1" }),
	}
}

// world is one implementation and what every case may count on: a VPC with a
// subnet in each of three zones and a security group, an amd64 image, an
// instance profile, an EKS cluster with a node group, and a parameter. The subnet in
// the last zone is public.
type world struct {
	clients

	vpc     string
	subnets []string // in zones a, b, c
	group   string
	image   string

	cloud     *awssim.Cloud   // nil: not the simulator
	key       *rsa.PrivateKey // of the cluster's issuer
	transport http.RoundTripper
}

// as is the same world seen by another caller.
func (w *world) as(caller aws.CredentialsProvider) *world {
	other := *w
	other.clients = connect(*w.cfg.BaseEndpoint, caller, w.transport)
	return &other
}

// startSimulatorWorld starts a simulator; its answers go through the transport (nil: the default).
func startSimulatorWorld(t *testing.T, transport http.RoundTripper) *world {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := awssim.New(awssim.Options{Region: region, Account: account, JWKS: func(context.Context) ([]byte, error) { return publish(key) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	admin := cloud.IAM.SeedUser("deployer", iamsim.AdministratorAccess)
	w := &world{
		clients: connect(cloud.URL(), credentials.NewStaticCredentialsProvider(admin.AccessKeyID, admin.SecretAccessKey, ""), transport),
		cloud:   cloud, key: key, transport: transport,
	}
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", zones())
	w.vpc, w.subnets, w.group = vpc.ID, vpc.SubnetIDs, vpc.ClusterSecurityGroupID
	w.image = cloud.EC2.SeedImage(ec2sim.Image{Name: "al2023-x86_64", Description: "nodes", Arch: "x86_64", Tags: map[string]string{"a": "1"}})
	cloud.CreateCluster(ekssim.Cluster{
		Name: cluster, Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), Issuer: issuer, ServiceCIDR: "10.96.0.0/16",
		VPCID: w.vpc, SubnetIDs: w.subnets, ClusterSecurityGroupID: w.group, RoleARN: "arn:aws:iam::123456789012:role/cluster", Tags: map[string]string{"a": "1"},
		NodeGroups: []ekssim.NodeGroup{{
			Name: "system", InstanceTypes: []string{"m5.large"}, Min: 1, Max: 3, Desired: 2,
			Labels: map[string]string{"tier": "system"}, Taints: []ekssim.Taint{{Key: "only", Value: "system", Effect: "NO_SCHEDULE"}},
		}},
		FargateProfiles: []string{"pods"}, Addons: []string{"vpc-cni"},
	})
	cloud.EC2.SeedPublicRouteTable(w.vpc, w.subnets[2])
	cloud.SSM.Seed(parameter, w.image)
	w.makeProfile(t)
	return w
}

// publish gives the key as the issuer's key set.
func publish(key *rsa.PrivateKey) ([]byte, error) {
	return json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}})
}

// startMotoWorld starts moto and makes by the API what the simulator is seeded with.
func startMotoWorld(t *testing.T, python string) *world {
	t.Helper()
	moto, err := StartMoto(t.Context(), python, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(moto.Close)
	w := &world{clients: connect(moto.URL, credentials.NewStaticCredentialsProvider("moto", "moto", ""), nil)}
	if _, err := observe(t.Context(), contract{run: furnish}, w); err != nil {
		t.Fatalf("moto cannot be furnished: %v", err)
	}
	w.makeProfile(t)
	return w
}

// startMinistackWorld starts ministack with what the cases that it judges need.
func startMinistackWorld(t *testing.T, python string) *world {
	t.Helper()
	server, err := StartMinistack(t.Context(), python, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := &world{clients: connect(server.URL, credentials.NewStaticCredentialsProvider(account, "ministack", ""), nil)}
	_, err = w.eks.CreateCluster(t.Context(), &eks.CreateClusterInput{
		Name: aws.String(cluster), RoleArn: aws.String("arn:aws:iam::123456789012:role/cluster"), ResourcesVpcConfig: &ekstypes.VpcConfigRequest{SubnetIds: []string{"subnet-1"}},
	})
	if err == nil {
		_, err = w.eks.CreateAddon(t.Context(), &eks.CreateAddonInput{ClusterName: aws.String(cluster), AddonName: aws.String("vpc-cni")})
	}
	if err != nil {
		t.Fatalf("ministack cannot be furnished: %v", err)
	}
	return w
}

// furnish makes by the API what the simulator is seeded with.
func furnish(ctx context.Context, w *world) facts {
	vpc := need(w.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")}))
	w.vpc = *vpc.Vpc.VpcId
	for n, zone := range zones() {
		cidr := []string{"10.0.0.0/18", "10.0.64.0/18", "10.0.128.0/18"}[n]
		subnet := need(w.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &w.vpc, CidrBlock: &cidr, AvailabilityZone: &zone}))
		w.subnets = append(w.subnets, *subnet.Subnet.SubnetId)
	}
	group := need(w.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: &w.vpc, GroupName: aws.String("cluster"), Description: aws.String("cluster")}))
	w.group = *group.GroupId
	// moto drops the architecture of images that are registered: one that it ships.
	images := need(w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []ec2types.Filter{
		filter("architecture", "x86_64"), filter("name", "amzn2-ami-*"),
	}}))
	w.image = *images.Images[0].ImageId
	need(w.eks.CreateCluster(ctx, &eks.CreateClusterInput{
		Name: aws.String(cluster), Version: aws.String("1.33"), RoleArn: aws.String("arn:aws:iam::123456789012:role/cluster"), Tags: map[string]string{"a": "1"},
		ResourcesVpcConfig: &ekstypes.VpcConfigRequest{SubnetIds: w.subnets, SecurityGroupIds: []string{w.group}},
	}))
	need(w.eks.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
		ClusterName: aws.String(cluster), NodegroupName: aws.String("system"), NodeRole: aws.String(groupRole), Subnets: w.subnets, InstanceTypes: []string{"m5.large"},
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(2)}, Labels: map[string]string{"tier": "system"},
		Taints: []ekstypes.Taint{{Key: aws.String("only"), Value: aws.String("system"), Effect: ekstypes.TaintEffectNoSchedule}},
	}))
	need(w.eks.CreateFargateProfile(ctx, &eks.CreateFargateProfileInput{
		ClusterName: aws.String(cluster), FargateProfileName: aws.String("pods"), PodExecutionRoleArn: aws.String(groupRole),
		Selectors: []ekstypes.FargateProfileSelector{{Namespace: aws.String("pods")}},
	}))
	furnishRoutes(ctx, w)
	need(w.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String(parameter), Value: &w.image, Type: ssmtypes.ParameterTypeString}))
	return nil
}

// furnishRoutes makes the last subnet public.
func furnishRoutes(ctx context.Context, w *world) {
	gateway := need(w.ec2.CreateInternetGateway(ctx, nil)).InternetGateway.InternetGatewayId
	need(w.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway, VpcId: &w.vpc}))
	table := need(w.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &w.vpc})).RouteTable.RouteTableId
	need(w.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: gateway}))
	need(w.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: &w.subnets[2]}))
}

// makeProfile makes the instance profile and its role.
func (w *world) makeProfile(t *testing.T) {
	t.Helper()
	_, err := observe(t.Context(), contract{run: func(ctx context.Context, w *world) facts {
		need(w.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String(profile), AssumeRolePolicyDocument: aws.String(ec2Trust)}))
		need(w.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(profile)}))
		need(w.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(profile), RoleName: aws.String(profile)}))
		return nil
	}}, w)
	if err != nil {
		t.Fatal(err)
	}
}

func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

// ec2Tags are tags of keys and values in turn.
func ec2Tags(pairs ...string) []ec2types.Tag {
	var out []ec2types.Tag
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, ec2types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

// ec2TagMap reads tags; keys beginning with aws: are EC2's own and left out.
func ec2TagMap(tags []ec2types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		if k := aws.ToString(t.Key); len(k) < 4 || k[:4] != "aws:" {
			out[k] = aws.ToString(t.Value)
		}
	}
	return out
}
