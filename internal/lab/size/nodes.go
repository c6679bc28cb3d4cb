package size

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

// Every node is of one type, the only one that the pools allow, and full: 20 pods ask for 7.8 of
// its 7.9 CPUs. So no node is worth replacing, and the daemon keeps still.
const (
	instanceType = "m5.2xlarge"
	poolCount    = 2
	className    = "default"
	ebsDriver    = "ebs.csi.aws.com"
)

func poolName(i int) string { return fmt.Sprintf("pool-%d", i%poolCount) }

// machine is a node to be: one of an instance, or one of somebody else's.
type machine struct {
	name, id, ip, zone, image string
	claimed                   bool
}

func (m machine) providerID() string { return awsspec.ProviderID(m.zone, m.id) }

// pools declares the class and the pools, as a user does.
func (r *run) pools(ctx context.Context) error {
	objects := []*unstructured.Unstructured{deploy.NodeClass(r.lab, className)}
	disruption := map[string]any{"consolidateAfter": "30s"}
	if r.Karpenter { // what is saved by taking nodes away is not what is looked at
		disruption = map[string]any{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
	}
	for i := range poolCount {
		objects = append(objects, deploy.Declare(v1.Group, v1.NodePoolKind, poolName(i), map[string]any{
			"disruption": disruption,
			"template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": awsv1.Group, "kind": awsv1.EC2NodeClassKind, "name": className},
				"requirements": []any{
					map[string]any{"key": v1.LabelCapacityType, "operator": "In", "values": []any{v1.CapacityTypeOnDemand}},
					map[string]any{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": []any{instanceType}},
				},
			}},
		}))
	}
	ctx, cancel := context.WithTimeout(ctx, patience) // the definitions were applied a moment ago
	defer cancel()
	for _, o := range objects {
		if _, err := r.applier.Apply(ctx, o, false); err != nil {
			return err
		}
	}
	return nil
}

// nodes writes the nodes: every other one belongs to a NodeClaim.
func (r *run) nodes(ctx context.Context) error {
	launched, err := r.launch(ctx, r.claimed())
	if err != nil {
		return err
	}
	return r.each(ctx, "nodes", r.Nodes, func(ctx context.Context, i int) error {
		m := r.machine(launched, i)
		if m.claimed {
			if err := r.claim(ctx, m, i); err != nil {
				return err
			}
		}
		if _, err := r.core.CoreV1().Nodes().Create(ctx, nodeOf(m, i), metav1.CreateOptions{FieldManager: "kubelet"}); err != nil {
			return fmt.Errorf("node %s create: %w", m.name, err)
		}
		limit := int32(25)
		_, err := r.core.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: m.name},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: ebsDriver, NodeID: m.id, TopologyKeys: []string{corev1.LabelOSStable, corev1.LabelTopologyZone, "topology.ebs.csi.aws.com/zone"},
				Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
			}}},
		}, metav1.CreateOptions{FieldManager: "kubelet"})
		if err != nil {
			return fmt.Errorf("csinode %s create: %w", m.name, err)
		}
		return nil
	})
}

// machine is the i-th node; its name does not depend on the run.
func (r *run) machine(launched []machine, i int) machine {
	if every := r.Nodes / r.claimed(); i%every == 0 && i/every < len(launched) {
		return launched[i/every]
	}
	ip := fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250)
	return machine{
		name: fmt.Sprintf("ip-10-1-%d-%d.%s.compute.internal", i/250, 1+i%250, r.lab.Region),
		id:   fmt.Sprintf("i-%017x", i), ip: ip, zone: r.lab.Region + string("abc"[i%3]),
	}
}

// launch makes instances in the simulated EC2, as many in each zone.
func (r *run) launch(ctx context.Context, n int) ([]machine, error) {
	client := ec2.NewFromConfig(deploy.Config(r.lab))
	images, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []types.Filter{
		{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		return nil, fmt.Errorf("images describe: %d found: %w", len(images.Images), err)
	}
	var out []machine
	// Nothing may drift.
	image, groups, subnets := newest(images.Images).ImageId, []string{r.lab.VPC.ClusterSecurityGroupID}, r.lab.VPC.SubnetIDs
	for i, subnet := range subnets {
		count := aws.Int32(int32(n/len(subnets) + min(1, max(0, n%len(subnets)-i))))
		if *count == 0 {
			continue
		}
		made, err := client.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: image, InstanceType: instanceType, SubnetId: &subnet, MinCount: count, MaxCount: count, SecurityGroupIds: groups,
		})
		if err != nil {
			return nil, fmt.Errorf("instances run: %w", err)
		}
		for _, x := range made.Instances {
			out = append(out, machine{
				name: *x.PrivateDnsName, id: *x.InstanceId, ip: *x.PrivateIpAddress, zone: *x.Placement.AvailabilityZone, image: *image, claimed: true,
			})
		}
	}
	return out, nil
}

// claim writes the NodeClaim of a machine that has joined and is in use, and the
// tags by which its instance is known to be its own.
func (r *run) claim(ctx context.Context, m machine, i int) error {
	claim := claimOf(m, i)
	if r.Karpenter {
		karpenters(claim)
	}
	made, err := r.clients.NodeClaims.Create(ctx, claim, metav1.CreateOptions{FieldManager: "karpenterd"})
	if err != nil {
		return fmt.Errorf("nodeclaim %s create: %w", claim.Name, err)
	}
	made.Status = v1.NodeClaimStatus{
		NodeName: m.name, ProviderID: m.providerID(), ImageID: m.image, Capacity: capacity(), Allocatable: allocatable(),
	}
	now := time.Now()
	for _, condition := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
		made.Conditions().SetTrue(condition, now)
	}
	if _, err := r.clients.NodeClaims.UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: "karpenterd"}); err != nil {
		return fmt.Errorf("nodeclaim %s status write: %w", claim.Name, err)
	}
	var tags []types.Tag
	owner := awsspec.Owner{Cluster: r.lab.ClusterName, NodePool: poolName(i), NodeClass: className}
	for key, value := range owner.InstanceTags(nil, made.Name, string(made.UID)) {
		tags = append(tags, types.Tag{Key: &key, Value: &value})
	}
	if r.Karpenter {
		tags = withoutUID(tags)
	}
	if _, err := ec2.NewFromConfig(deploy.Config(r.lab)).CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{m.id}, Tags: tags}); err != nil {
		return fmt.Errorf("instance %s tag: %w", m.id, err)
	}
	return nil
}

func claimOf(m machine, i int) *v1.NodeClaim {
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%06x", poolName(i), i), Labels: labelsOf(m, i), Finalizers: []string{v1.FinalizerTermination},
			Annotations: map[string]string{
				v1.AnnotationMinValuesRelaxed: "false", v1.AnnotationPlanned: "1mh3k2q8z0x1c.1pb2v7t9y4d5f=20",
				v1.AnnotationLaunchAttempt: "1", v1.AnnotationLaunchRequest: fmt.Sprintf("%01000d", i),
			},
		},
		Spec: v1.NodeClaimSpec{
			NodeSpec: v1.NodeSpec{
				Requirements: []v1.Requirement{
					{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.2xlarge", "m5a.2xlarge", "m6i.2xlarge"}},
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{m.zone}},
					{Key: v1.LabelCapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1.CapacityTypeOnDemand}},
					{Key: v1.LabelNodePool, Operator: corev1.NodeSelectorOpIn, Values: []string{poolName(i)}},
				},
				NodeClassRef:  v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: className},
				StartupTaints: []v1.Taint{v1.Taint(v1.AwaitingPodsTaint())},
			},
			Resources: v1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("6"), corev1.ResourceMemory: resource.MustParse("15Gi")}},
		},
	}
}

// labelsOf are those that a cloud controller, a kubelet and the daemon put on.
func labelsOf(m machine, i int) map[string]string {
	out := map[string]string{
		corev1.LabelInstanceTypeStable: instanceType, corev1.LabelTopologyZone: m.zone, corev1.LabelTopologyRegion: m.zone[:len(m.zone)-1],
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", "topology.k8s.aws/zone-id": "usw2-az1",
	}
	if !m.claimed {
		out["eks.amazonaws.com/nodegroup"], out["eks.amazonaws.com/capacityType"] = "workers", "ON_DEMAND"
		return out
	}
	out[v1.LabelNodePool], out[v1.LabelCapacityType] = poolName(i), v1.CapacityTypeOnDemand
	for key, value := range map[string]string{
		"ec2nodeclass": className, "instance-category": "m", "instance-generation": "5", "instance-family": "m5", "instance-size": "2xlarge",
		"instance-cpu": "8", "instance-cpu-manufacturer": "intel", "instance-memory": "32768", "instance-hypervisor": "nitro",
		"instance-encryption-in-transit-supported": "false", "instance-ebs-bandwidth": "4750", "instance-network-bandwidth": "2500",
	} {
		out[awsv1.Group+"/"+key] = value
	}
	return out
}

func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32408Mi"),
		corev1.ResourcePods: resource.MustParse("58"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
}

func allocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("7910m"), corev1.ResourceMemory: resource.MustParse("31415Mi"),
		corev1.ResourcePods: resource.MustParse("58"), corev1.ResourceEphemeralStorage: resource.MustParse("90Gi"),
	}
}

// nodeOf is a Ready node with the 50 images that a kubelet lists.
func nodeOf(m machine, i int) *corev1.Node {
	labels := labelsOf(m, i)
	labels[corev1.LabelHostname] = m.name
	if m.claimed {
		labels[v1.LabelRegistered], labels[v1.LabelInitialized] = v1.LabelTrue, v1.LabelTrue
	}
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Labels: labels, Annotations: map[string]string{
			"alpha.kubernetes.io/provided-node-ip": m.ip, "volumes.kubernetes.io/controller-managed-attach-detach": "true",
			"csi.volume.kubernetes.io/nodeid": fmt.Sprintf("{%q:%q}", ebsDriver, m.id), "node.alpha.kubernetes.io/ttl": "0",
		}},
		Spec: corev1.NodeSpec{ProviderID: m.providerID()},
		Status: corev1.NodeStatus{
			Capacity: capacity(), Allocatable: allocatable(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: m.ip}, {Type: corev1.NodeInternalDNS, Address: m.name}, {Type: corev1.NodeHostName, Address: m.name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", OSImage: "Amazon Linux 2023.9.20261015", ContainerRuntimeVersion: "containerd://2.1.4",
				KernelVersion: "6.12.46-66.121.amzn2023.x86_64", KubeletVersion: "v1.36.3", MachineID: m.id, SystemUUID: m.id, BootID: m.id,
			},
		},
	}
	for _, c := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: "kubelet says " + c.reason, LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	for k := range 50 {
		image := imageOf(i*7 + k)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("%s@sha256:%064x", image, k), fmt.Sprintf("%s:v1.%d.0", image, k)}, SizeBytes: 100_000_000 + int64(k),
		})
	}
	return node
}

func imageOf(i int) string {
	return fmt.Sprintf("123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/service-%03d", i%400)
}
