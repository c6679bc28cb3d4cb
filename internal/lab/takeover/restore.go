package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

// Restored says how the laboratory has what the recording names.
type Restored struct {
	Instances map[string]string // the recorded id -> the id here
	names     []string          // old, new, old, new
}

// restorer puts a recording into a laboratory.
type restorer struct {
	Restored

	lab     *lab.Lab
	role    string
	objects dynamic.Interface
}

// Restore puts the recording into the laboratory, which has the definitions and the role of
// the nodes.
func (r Recording) Restore(ctx context.Context, l *lab.Lab, role string) (Restored, error) {
	objects, err := dynamic.NewForConfig(l.AdminConfig)
	if err != nil {
		return Restored{}, fmt.Errorf("client create: %w", err)
	}
	x := &restorer{Restored: Restored{Instances: map[string]string{}}, lab: l, role: role, objects: objects}
	for _, p := range r.Profiles {
		x.names = append(x.names, p.Role, role)
	}
	if err := x.launch(ctx, r.Instances); err != nil {
		return x.Restored, err
	}
	for _, o := range r.Objects {
		if err := x.create(ctx, o); err != nil {
			return x.Restored, err
		}
	}
	for _, p := range r.Profiles { // their paths have the uid of the class
		if err := x.profile(ctx, p); err != nil {
			return x.Restored, err
		}
	}
	for _, t := range r.LaunchTemplates {
		if err := x.template(ctx, t); err != nil {
			return x.Restored, err
		}
	}
	for _, p := range r.Pods {
		if err := x.pod(ctx, p); err != nil {
			return x.Restored, err
		}
	}
	return x.Restored, nil
}

// here returns the text with the names of this laboratory.
func (x *restorer) here(text string) string { return strings.NewReplacer(x.names...).Replace(text) }

// launch launches instances like the recorded ones, in the subnets of their zones.
func (x *restorer) launch(ctx context.Context, instances []Instance) error {
	client := ec2.NewFromConfig(deploy.Config(x.lab))
	found, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: x.lab.VPC.SubnetIDs})
	if err != nil {
		return fmt.Errorf("subnets describe: %w", err)
	}
	subnets := map[string]string{}
	for _, s := range found.Subnets {
		subnets[*s.AvailabilityZone] = *s.SubnetId
	}
	for _, i := range instances {
		images, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{i.ImageName}}}})
		if err != nil || len(images.Images) != 1 {
			return fmt.Errorf("image %s describe: %d found: %w", i.ImageName, len(images.Images), err)
		}
		made, err := client.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceType(i.Type), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			SubnetId: aws.String(subnets[i.Zone]), SecurityGroupIds: []string{x.lab.VPC.ClusterSecurityGroupID},
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: ec2Tags(i.Tags)}},
		})
		if err != nil {
			return fmt.Errorf("instance %s run: %w", i.ID, err)
		}
		id := *made.Instances[0].InstanceId
		x.Instances[i.ID] = id
		x.names = append(x.names, i.ID, id, i.Image, *images.Images[0].ImageId, i.Subnet, subnets[i.Zone])
		for _, group := range i.SecurityGroups {
			x.names = append(x.names, group, x.lab.VPC.ClusterSecurityGroupID)
		}
	}
	return nil
}

func ec2Tags(tags map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for key, value := range tags {
		if !strings.HasPrefix(key, "aws:") { // EC2's own
			out = append(out, ec2types.Tag{Key: &key, Value: &value})
		}
	}
	return out
}

// create creates the object and writes its status. Its uid here is that of what refers to
// it, too.
func (x *restorer) create(ctx context.Context, recorded map[string]any) error {
	raw, err := json.Marshal(recorded)
	if err != nil {
		return fmt.Errorf("recorded object encode: %w", err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(x.here(string(raw))), &o.Object); err != nil {
		return fmt.Errorf("recorded object decode: %w", err)
	}
	before := string(o.GetUID())
	o.SetUID("")
	o.SetResourceVersion("")
	if o.GetKind() == "Node" {
		annotations := o.GetAnnotations()
		annotations[controlplane.NodeAnnotation] = controlplane.NodeAnnotationValue
		o.SetAnnotations(annotations)
	}
	kind := schema.GroupVersionResource{
		Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version, Resource: strings.ToLower(o.GetKind()) + "s",
	}
	if o.GetKind() == "EC2NodeClass" {
		kind.Resource = "ec2nodeclasses"
	}
	client := x.objects.Resource(kind)
	made, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: "karpenter"})
	if err != nil {
		return fmt.Errorf("%s %s create: %w", o.GetKind(), o.GetName(), err)
	}
	x.names = append(x.names, before, string(made.GetUID()))
	if status, there := o.Object["status"]; there {
		patch, err := json.Marshal(map[string]any{"status": status})
		if err == nil {
			_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "karpenter"}, "status")
		}
		if err != nil {
			return fmt.Errorf("%s %s status write: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func (x *restorer) profile(ctx context.Context, p Profile) error {
	client := iam.NewFromConfig(deploy.Config(x.lab))
	var tags []iamtypes.Tag
	for key, value := range p.Tags {
		tags = append(tags, iamtypes.Tag{Key: &key, Value: &value})
	}
	if _, err := client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &p.Name, Path: aws.String(x.here(p.Path)), Tags: tags}); err != nil {
		return fmt.Errorf("instance profile %s create: %w", p.Name, err)
	}
	if _, err := client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &p.Name, RoleName: &x.role}); err != nil {
		return fmt.Errorf("instance profile %s fill: %w", p.Name, err)
	}
	return nil
}

func (x *restorer) template(ctx context.Context, t LaunchTemplate) error {
	_, err := ec2.NewFromConfig(deploy.Config(x.lab)).CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &t.Name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM5Large},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: ec2Tags(t.Tags)}},
	})
	if err != nil {
		return fmt.Errorf("launch template %s create: %w", t.Name, err)
	}
	return nil
}

// pod creates a pod that is bound to its node. KWOK runs it.
func (x *restorer) pod(ctx context.Context, p Pod) error {
	node := x.here(p.Node)
	pods := x.lab.Admin.CoreV1().Pods("default")
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: map[string]string{"app": "inflate"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "inflate", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1536Mi"),
			}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("pod %s create: %w", p.Name, err)
	}
	return nil
}
