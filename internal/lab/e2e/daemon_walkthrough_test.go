//go:build lab

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// What testdata/walkthrough.yaml asks for.
const (
	walkName  = "spot" // of the EC2NodeClass and of the NodePool
	walkType  = "m5.xlarge"
	walkNodes = 4 // of four CPUs each, up to the limit of 16
	walkImage = "amazon-eks-node-al2023-x86_64-standard-" + lab.KubernetesVersion + "-v20261015"
	walkAfter = 30 * time.Second // consolidateAfter
)

// walkthrough applies the manifests of a walk-through as they are, scales a Deployment
// beyond the limit of the pool, to what one node holds and to nothing, and deletes what it
// applied.
func walkthrough(t *testing.T, d *daemonLab) {
	const perNode = 3 // pods of one CPU: the system keeps a part of the fourth
	p := pool{name: walkName, spot: true}
	d.kubectlApply(t, "testdata/walkthrough.yaml")
	d.deploy(t, p, 1, func(pod *corev1.PodTemplateSpec) {
		pod.Spec.NodeSelector = map[string]string{"intent": "batch", v1.LabelCapacityType: v1.CapacityTypeSpot}
	})
	d.running(t, p, 1)
	claim, instance := d.theOne(t, p)
	d.walkNode(t, claim)
	d.walkInstance(t, instance)

	filled := time.Now()
	d.scale(t, p, walkNodes*perNode+5)
	d.limited(t, p, walkNodes*perNode, 5, fmt.Sprintf("NodePool %q: the limit is 16 cpu, the pool has 16 with", walkName))
	claims := d.oneInstanceEach(t, p)
	if len(claims) != walkNodes {
		t.Errorf("%d NodeClaims, want %d", len(claims), walkNodes)
	}
	for _, i := range d.instances(p) {
		if i.Type != walkType || !i.Spot {
			t.Errorf("instance %s is a %s, spot %t", i.ID, i.Type, i.Spot)
		}
	}

	d.scale(t, p, perNode) // and one node is enough
	eventually(t, func() error {
		left, err := d.claims(t.Context(), p)
		if err != nil {
			return err
		}
		going := slices.ContainsFunc(left, func(c v1.NodeClaim) bool { return c.DeletionTimestamp != nil })
		// Every node got pods since then. The API's times are whole seconds.
		if after := time.Since(filled); after < walkAfter-time.Second && (going || len(left) < walkNodes) {
			t.Fatalf("a node goes %s after pods came, want %s at least", after, walkAfter)
		}
		if n := len(d.instances(p)); len(left) != 1 || n != 1 {
			return fmt.Errorf("%d NodeClaims and %d instances, want one", len(left), n)
		}
		return nil
	})
	d.running(t, p, perNode)
	d.scale(t, p, 0)
	for _, c := range claims {
		d.gone(t, c)
	}
	d.empties(t, p)
	d.walkBack(t, p)
}

// kubectlApply makes the requests of kubectl apply --server-side: the documents as they
// are, with strict validation. Then it waits until the objects are ready.
func (d *daemonLab) kubectlApply(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer("CLUSTER_NAME", d.ClusterName, "ROLE_NAME", "node").Replace(string(text)))
	client, err := dynamic.NewForConfig(kube.ConfigFromEKS(d.Endpoint, d.CA, d.aws.EKSTokenSource(d.ClusterName)))
	if err != nil {
		t.Fatal(err)
	}
	var refs []kube.Ref
	for documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var head metav1.PartialObjectMetadata
		if err == nil {
			err = yaml.Unmarshal(document, &head)
		}
		kind := head.GroupVersionKind()
		api, _ := meta.UnsafeGuessKindToResource(kind)
		if err == nil {
			_, err = client.Resource(api).Patch(t.Context(), head.Name, types.ApplyPatchType, document,
				metav1.PatchOptions{FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict})
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		refs = append(refs, kube.Ref{GroupVersionKind: kind, Name: head.Name})
	}
	if len(refs) != 2 {
		t.Fatalf("%s has the objects %v, want a class and a pool", file, refs)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, ref := range refs {
		if _, err := d.applier.Wait(ctx, ref, kube.ConditionTrue("Ready")); err != nil {
			t.Fatal(err)
		}
	}
}

// walkNode checks the Node, which has what template and class ask for.
func (d *daemonLab) walkNode(t *testing.T, c v1.NodeClaim) {
	t.Helper()
	node, err := d.Core.CoreV1().Nodes().Get(t.Context(), c.Status.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"intent": "batch", v1.LabelNodePool: walkName, v1.LabelCapacityType: v1.CapacityTypeSpot, instanceType: walkType,
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if taint := (corev1.Taint{Key: "spot", Value: "only", Effect: corev1.TaintEffectNoSchedule}); !slices.Contains(node.Spec.Taints, taint) {
		t.Errorf("taints %v, want %v", node.Spec.Taints, taint)
	}
	if disk := node.Status.Capacity[corev1.ResourceEphemeralStorage]; disk.Cmp(resource.MustParse("100Gi")) != 0 {
		t.Errorf("the node has %v of disk, want 100Gi", &disk)
	}
}

// walkInstance checks what EC2 says of the instance and its volume.
func (d *daemonLab) walkInstance(t *testing.T, i ec2sim.Instance) {
	t.Helper()
	profiles, err := d.aws.InstanceProfiles(t.Context(), d.profilePath(t, walkName))
	if err != nil || len(profiles) != 1 || profiles[0].Role != "node" || i.ProfileARN != profiles[0].ARN {
		t.Errorf("the instance has the profile %s, want one with role node of %+v, %v", i.ProfileARN, profiles, err)
	}
	if i.Type != walkType || !i.Spot || i.ImageName != walkImage || !slices.Contains(d.VPC.SubnetIDs, i.SubnetID) || !slices.Equal(i.SecurityGroupIDs, []string{d.VPC.ClusterSecurityGroupID}) {
		t.Errorf("instance %s is a %s, spot %t, with the image %s in subnet %s and groups %v", i.ID, i.Type, i.Spot, i.ImageName, i.SubnetID, i.SecurityGroupIDs)
	}
	client := d.ec2()
	instances, err := client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{i.ID}})
	if err != nil {
		t.Fatal(err)
	}
	shown := instances.Reservations[0].Instances[0]
	if o := shown.MetadataOptions; o.HttpTokens != ec2types.HttpTokensStateOptional || awssdk.ToInt32(o.HttpPutResponseHopLimit) != 2 ||
		o.HttpEndpoint != ec2types.InstanceMetadataEndpointStateEnabled || o.HttpProtocolIpv6 != ec2types.InstanceMetadataProtocolStateDisabled {
		t.Errorf("metadata options: tokens %s, hop limit %d, endpoint %s, IPv6 %s", o.HttpTokens, awssdk.ToInt32(o.HttpPutResponseHopLimit), o.HttpEndpoint, o.HttpProtocolIpv6)
	}
	if len(shown.BlockDeviceMappings) != 1 || !awssdk.ToBool(shown.BlockDeviceMappings[0].Ebs.DeleteOnTermination) {
		t.Errorf("block devices %+v, want one that goes with the instance", shown.BlockDeviceMappings)
	}
	volumes, err := client.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("attachment.instance-id"), Values: []string{i.ID}},
	}})
	if err != nil || len(volumes.Volumes) != 1 {
		t.Fatalf("%v: %+v, want one volume", err, volumes)
	}
	v := volumes.Volumes[0]
	if awssdk.ToInt32(v.Size) != 100 || v.VolumeType != ec2types.VolumeTypeGp3 || !awssdk.ToBool(v.Encrypted) || awssdk.ToString(v.Attachments[0].Device) != "/dev/xvda" {
		t.Errorf("volume of %d GiB, %s, encrypted %t, attached as %s", awssdk.ToInt32(v.Size), v.VolumeType, awssdk.ToBool(v.Encrypted), awssdk.ToString(v.Attachments[0].Device))
	}
	for kind, list := range map[string][]ec2types.Tag{"instance": shown.Tags, "volume": v.Tags} {
		tags := map[string]string{}
		for _, x := range list {
			tags[*x.Key] = *x.Value
		}
		if tags["Name"] != d.ClusterName+"-spot" || tags["team"] != "batch" {
			t.Errorf("the %s has the tags %v", kind, tags)
		}
	}
}

// limited waits until as many pods run as the limit allows, and the others have an Event
// that says why they wait.
func (d *daemonLab) limited(t *testing.T, p pool, run, wait int, why string) {
	t.Helper()
	eventually(t, func() error {
		pods, err := d.pods(t.Context(), p)
		if err != nil {
			return err
		}
		events, err := d.Core.CoreV1().Events(testNamespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
		if err != nil {
			return err
		}
		var running, told int
		for _, x := range pods {
			switch {
			case x.Status.Phase == corev1.PodRunning:
				running++
			case slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.UID == x.UID && strings.Contains(e.Message, why) }):
				told++
			}
		}
		if running != run || told != wait || len(pods) != run+wait {
			return fmt.Errorf("of %d pods %d run, want %d; %d were told %q, want %d", len(pods), running, run, told, why, wait)
		}
		return nil
	})
}

// walkBack deletes what was applied, as kubectl delete does, and sees that nothing is left.
func (d *daemonLab) walkBack(t *testing.T, p pool) {
	t.Helper()
	if n := len(d.everLaunched(p)); n != walkNodes {
		t.Errorf("%d instances were launched, want %d", n, walkNodes)
	}
	path, tags := d.profilePath(t, walkName), map[string]string{awsspec.TagNodeClass: walkName}
	left := func() (profiles, templates int) {
		made, err := d.aws.InstanceProfiles(t.Context(), path)
		names, templateErr := d.aws.LaunchTemplates(t.Context(), tags)
		if err := errors.Join(err, templateErr); err != nil {
			t.Fatal(err)
		}
		return len(made), len(names)
	}
	if profiles, templates := left(); profiles == 0 || templates == 0 {
		t.Errorf("%d instance profiles and %d launch templates: the check sees nothing", profiles, templates)
	}
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if err := errors.Join(d.EC2NodeClasses.Delete(t.Context(), walkName, options), d.NodePools.Delete(t.Context(), walkName, options)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, class := d.EC2NodeClasses.Get(t.Context(), walkName, metav1.GetOptions{})
		_, pool := d.NodePools.Get(t.Context(), walkName, metav1.GetOptions{})
		if !apierrors.IsNotFound(class) || !apierrors.IsNotFound(pool) {
			return fmt.Errorf("class: %w, pool: %w", class, pool)
		}
		return nil
	})
	if profiles, templates := left(); profiles+templates > 0 {
		t.Errorf("%d instance profiles and %d launch templates are left", profiles, templates)
	}
	d.empties(t, p)
}
