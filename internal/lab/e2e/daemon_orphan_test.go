//go:build lab

package e2e

import (
	"fmt"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// sweepEvery is how often the daemon looks for orphans, and how old one must be.
const sweepEvery = 30 * time.Second

// orphans are instances that no NodeClaim owns.
type orphans struct {
	ours      string // tagged as one that the daemon launched
	karpenter string // tagged as Karpenter does before the node has joined
	foreign   string // of the cluster and Karpenter's alpha generation, which had no NodeClaims
}

// deployer calls AWS as the deployer.
func (d *daemonLab) deployer() awssdk.Config {
	return awssdk.Config{
		Region: d.Region, BaseEndpoint: awssdk.String(d.Cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(d.Deployer.AccessKeyID, d.Deployer.SecretAccessKey, ""),
	}
}

func (d *daemonLab) ec2() *ec2.Client { return ec2.NewFromConfig(d.deployer()) }

// launchTagged launches an instance as somebody who is not the daemon.
func (d *daemonLab) launchTagged(t *testing.T, tags map[string]string) (id string) {
	t.Helper()
	client := d.ec2()
	images, err := client.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("no image: %v", err)
	}
	var list []ec2types.Tag
	for key, value := range tags {
		list = append(list, ec2types.Tag{Key: &key, Value: &value})
	}
	answer, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceTypeM5Large, MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
		SubnetId: &d.VPC.SubnetIDs[0], TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: list}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *answer.Instances[0].InstanceId
}

func (d *daemonLab) launchOrphans(t *testing.T) orphans {
	t.Helper()
	owner := awsspec.Owner{Cluster: d.ClusterName, NodePool: "lost-and-found", NodeClass: nodeClassName}
	return orphans{
		ours: d.launchTagged(t, owner.InstanceTags(nil, "nobody", "no-such-uid")), karpenter: d.launchTagged(t, owner.Tags(nil)),
		foreign: d.launchTagged(t, map[string]string{
			awsspec.TagClusterPrefix + d.ClusterName: awsspec.TagOwned, "karpenter.sh/provisioner-name": "default", "karpenter.sh/managed-by": d.ClusterName,
		}),
	}
}

func (o orphans) isEnded(t *testing.T, d *daemonLab) {
	find := func(id string) ec2sim.Instance {
		for _, i := range d.Cloud.EC2.Instances() {
			if i.ID == id {
				return i
			}
		}
		t.Fatalf("instance %s is unknown", id)
		return ec2sim.Instance{}
	}
	for _, id := range []string{o.ours, o.karpenter} {
		eventually(t, func() error {
			if i := find(id); i.State != ec2sim.StateTerminated {
				return fmt.Errorf("instance %s is %s", i.ID, i.State)
			}
			return nil
		})
		i := find(id)
		if lived := i.TerminatedTime.Sub(i.LaunchTime); lived < 2*sweepEvery-2*time.Second { // the API's times are whole seconds
			t.Errorf("%s was ended %s after its launch: before a second sweep can have missed its owner", id, lived)
		}
	}
	if i := find(o.foreign); i.State != ec2sim.StateRunning {
		t.Errorf("an instance that the daemon did not launch is %s", i.State)
	}
}
