package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/cloudctl"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/machine"
)

// imageReleases are the releases of EKS's AL2023 images in the laboratory, the
// recommended one last.
func imageReleases() []string { return []string{"v20260903", "v20261015", "v20261112"} }

// issuer is the cluster's OIDC issuer, in EKS's form.
func (l *Lab) issuer() string {
	sum := sha256.Sum256([]byte(l.ClusterName + "/" + l.Region))
	return "https://oidc.eks." + l.Region + ".amazonaws.com/id/" + strings.ToUpper(hex.EncodeToString(sum[:16]))
}

// Issuer is the https URL of the cluster's OIDC issuer.
func (l *Lab) Issuer() string { return l.issuer() }

// startCloud starts the simulated AWS with a network and EKS's images in it.
func (l *Lab) startCloud(context.Context) error {
	var err error
	l.Cloud, err = awssim.New(awssim.Options{
		Region: l.Region, Account: Account, Logger: l.logger("aws"), JWKS: l.publishedKeys, SpotNotice: l.options.Shorter(spotNotice),
		StartTime: l.options.StartTime, StopTime: l.options.StopTime, CallTime: l.options.CallTime, Lag: l.options.Lag,
	})
	if err != nil {
		return err
	}
	l.types = map[string]ec2sim.Type{}
	for _, t := range l.Cloud.Offered.Types {
		l.types[t.Name] = t
	}
	if err := l.Cloud.Start(); err != nil {
		return err
	}
	l.VPC = l.Cloud.EC2.SeedVPC(vpcCIDR, l.options.Zones)
	return l.seedImages()
}

// seedImages publishes EKS's AL2023 images and the SSM parameters that name
// them (EKS user guide, "Retrieve recommended Amazon Linux AMI IDs").
func (l *Lab) seedImages() error {
	for _, variant := range []struct{ arch, kind string }{
		{"x86_64", "standard"}, {"arm64", "standard"}, {"x86_64", "nvidia"}, {"arm64", "nvidia"}, {"x86_64", "neuron"},
	} {
		root := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", KubernetesVersion, variant.arch, variant.kind)
		for _, release := range imageReleases() {
			name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", variant.arch, variant.kind, KubernetesVersion, release)
			created, err := time.Parse("v20060102", release)
			if err != nil {
				return fmt.Errorf("image release read: %w", err)
			}
			id := l.Cloud.EC2.SeedImage(ec2sim.Image{Name: name, Arch: variant.arch, Created: created})
			l.Cloud.SSM.Seed(root+name+"/image_id", id)
			l.Cloud.SSM.Seed(root+"recommended/image_id", id)
		}
	}
	l.seedBottlerocket()
	return nil
}

// seedBottlerocket publishes images of Bottlerocket and the SSM parameters that name them
// (Bottlerocket's documentation, "Finding an AMI").
func (l *Lab) seedBottlerocket() {
	for _, flavor := range []string{"", "-nvidia"} {
		for _, arch := range []string{"x86_64", "arm64"} {
			root := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/", KubernetesVersion, flavor, arch)
			for i, release := range []string{"1.48.0", "1.49.0"} {
				id := l.Cloud.EC2.SeedImage(ec2sim.Image{
					Name: fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s-d1e2f3a4", KubernetesVersion, flavor, arch, release),
					Arch: arch, RootGiB: 2, DataDevice: "/dev/xvdb", Created: time.Date(2026, 9, 1+i, 0, 0, 0, 0, time.UTC),
				})
				l.Cloud.SSM.Seed(root+release+"/image_id", id)
				l.Cloud.SSM.Seed(root+"latest/image_id", id)
			}
		}
	}
}

// registerCluster tells the simulated AWS of the control plane, and makes the
// user who deploys to it.
func (l *Lab) registerCluster() error {
	l.CreateCluster(l.ClusterName)
	l.DeployerARN, l.Deployer = l.Cloud.CreateUser(deployerName)
	if err := l.Cloud.EKS.CreateAccessEntry(l.ClusterName, l.DeployerARN, nil, ekssim.ClusterAdminPolicy); err != nil {
		return fmt.Errorf("deployer access entry create: %w", err)
	}
	return nil
}

// CreateCluster makes EKS know the control plane by this name: that of the laboratory, or
// one more.
func (l *Lab) CreateCluster(name string) {
	l.Cloud.CreateCluster(ekssim.Cluster{
		Name: name, Version: KubernetesVersion, Endpoint: l.Endpoint, CA: l.CA, Issuer: l.issuer(), ServiceCIDR: ServiceCIDR,
		VPCID: l.VPC.ID, SubnetIDs: l.VPC.SubnetIDs, ClusterSecurityGroupID: l.VPC.ClusterSecurityGroupID,
		RoleARN: "arn:aws:iam::" + Account + ":role/eks-cluster",
		NodeGroups: []ekssim.NodeGroup{{ // startBootstrapNodes starts its nodes
			Name: bootstrapGroup, InstanceTypes: []string{bootstrapType}, Min: 2, Max: 2, Desired: 2,
			Taints: []ekssim.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: "NO_SCHEDULE"}},
		}},
		Addons: []string{"coredns", "kube-proxy", "vpc-cni"},
	})
}

// publishedKeys are the keys of the cluster's OIDC issuer, as the API server
// publishes them.
func (l *Lab) publishedKeys(ctx context.Context) ([]byte, error) {
	config, err := l.plane.Client(issuerUser)
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("issuer keys read: %w", err)
	}
	raw, err := clients.RESTClient().Get().AbsPath("/openid/v1/jwks").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("issuer keys read: %w", err)
	}
	return raw, nil
}

// startMachines lets every instance boot, and starts the cloud controller.
func (l *Lab) startMachines(ctx context.Context) error {
	if l.options.ServersOnly {
		return nil
	}
	version, err := l.Admin.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("version read: %w", err)
	}
	second, err := l.faultClients()
	if err != nil {
		return err
	}
	l.Machines = machine.NewHost(machine.Options{
		Second: second,
		Region: l.Region, STSURL: l.Cloud.URL(), Metadata: metadata{l.Cloud}, Hardware: l.hardware, BootDelay: l.options.BootDelay,
		KubeletVersion: version.GitVersion, Annotations: nodeAnnotations(), Logger: l.logger("machine"),
	})
	config, err := l.plane.Client(cloudctl.User)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	l.controller, err = cloudctl.Start(ctx, clients, instances{l.Cloud.EC2, l.Region}, l.logger("cloud-controller"))
	if err != nil {
		return err
	}
	l.Cloud.EC2.Watch(func(i ec2sim.Instance, _, now ec2sim.State) {
		switch now {
		case ec2sim.StatePending: // nothing is powered on yet
		case ec2sim.StateRunning:
			l.Machines.Start(machine.Instance{
				ID: i.ID, Type: i.Type, Zone: i.Zone, PrivateIP: i.PrivateIP, PrivateDNSName: i.PrivateDNSName,
				UserData: []byte(i.UserData), Image: i.ImageName, DataVolumeBytes: i.DataVolumeGiB << 30,
			})
		case ec2sim.StateStopping, ec2sim.StateStopped, ec2sim.StateShuttingDown, ec2sim.StateTerminated:
			l.Machines.Stop(i.ID)
			l.controller.Kick()
		}
	})
	return nil
}

// hardware is what a machine of a type finds in itself.
func (l *Lab) hardware(instanceType string) (machine.Hardware, bool) {
	t, ok := l.types[instanceType]
	return machine.Hardware{
		Arch: t.Arch, VCPU: int64(t.VCPU), MemoryBytes: l.Cloud.EC2.RealMemoryBytes(instanceType), ENIs: int64(t.ENIs), IPv4PerENI: int64(t.IPv4PerENI),
		Devices: devicesOf(t),
	}, ok
}

// devicesOf are the devices of the type that have a plugin in the laboratory.
func devicesOf(t ec2sim.Type) map[corev1.ResourceName]int64 {
	out := map[corev1.ResourceName]int64{}
	if t.GPUManufacturer == "nvidia" && t.GPUCount > 0 {
		out["nvidia.com/gpu"] = int64(t.GPUCount)
	}
	if t.NeuronDevices > 0 {
		out["aws.amazon.com/neuron"], out["aws.amazon.com/neuroncore"] = int64(t.NeuronDevices), int64(t.NeuronCores)
	}
	return out
}

// metadata is the instance metadata service.
type metadata struct{ cloud *awssim.Cloud }

func (m metadata) Credentials(_ context.Context, instanceID string) (aws.Credentials, error) {
	c, err := m.cloud.InstanceCredentials(instanceID)
	if err != nil {
		return aws.Credentials{}, err
	}
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, nil
}

// instances is EC2 as the cloud controller sees it.
type instances struct {
	ec2    *ec2sim.Service
	region string
}

func (s instances) Instance(id string) (cloudctl.Instance, bool) {
	for _, i := range s.ec2.Instances() {
		if i.ID == id && i.State != ec2sim.StateTerminated {
			return cloudctl.Instance{
				Type: i.Type, Zone: i.Zone, ZoneID: i.ZoneID, Region: s.region, PrivateIP: i.PrivateIP, PrivateDNSName: i.PrivateDNSName,
				Stopped: i.State == ec2sim.StateStopped,
			}, true
		}
	}
	return cloudctl.Instance{}, false
}
