package interruption_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/interruption"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// spotInstance launches a spot instance.
func spotInstance(t *testing.T, cloud *awssim.Cloud, clients *aws.Clients) string {
	t.Helper()
	ctx := context.Background()
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a"})
	image := cloud.EC2.SeedImage(ec2sim.Image{Name: "al2023", Arch: "x86_64"})
	if _, err := clients.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "node", Role: "node"}); err != nil {
		t.Fatal(err)
	}
	template, err := clients.EnsureLaunchTemplate(ctx, awsspec.LaunchTemplate{
		ImageID: image, InstanceProfile: "node", SecurityGroupIDs: []string{vpc.ClusterSecurityGroupID}, BlockDevices: []awsspec.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 20, Type: "gp3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	launched, err := clients.Launch(ctx, aws.LaunchRequest{
		LaunchTemplate: template, CapacityType: aws.CapacityTypeSpot, ClientToken: "token", Tags: map[string]string{"a": "b"},
		Overrides: []aws.Override{{InstanceType: "m5.large", Zone: "us-west-2a", SubnetID: vpc.SubnetIDs[0], ImageID: image}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return launched.InstanceID
}

func TestListener_ReceivesWhatTheRulesLetThrough(t *testing.T) {
	cloud, clients := awstest.Start(t, awssim.Options{SpotNotice: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	queue, err := clients.CreateQueue(ctx, aws.Queue{Name: "lab", Policy: awsspec.QueuePolicy(cloud.SQS.ARN("lab"), "aws")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range awsspec.EventRules("lab") {
		_, err := clients.CreateRule(ctx, aws.Rule{Name: r.Name, Pattern: r.Pattern, TargetID: awsspec.QueueTargetID, TargetARN: queue.ARN})
		if err != nil {
			t.Fatal(err)
		}
	}
	id := spotInstance(t, cloud, clients)
	for _, err := range []error{
		cloud.EC2.RecommendRebalance(id), cloud.EC2.WarnSpot(id),
		cloud.EC2.ScheduleEvent(id, "instance-retirement", time.Now().Add(24*time.Hour)), cloud.EC2.Terminate(id),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	var mu sync.Mutex
	var received []interruption.Event
	listener := &interruption.Listener{
		Queue: clients, Name: "lab", Logger: hclog.NewNullLogger(),
		Handle: func(_ context.Context, events []interruption.Event) error {
			mu.Lock()
			defer mu.Unlock()
			received = append(received, events...)
			kinds := map[interruption.Kind]bool{}
			for _, e := range received {
				kinds[e.Kind] = true
			}
			if len(kinds) == 4 {
				cancel()
			}
			return nil
		},
	}
	listener.Run(ctx)

	deadlines := map[interruption.Kind]func(e interruption.Event) bool{
		interruption.SpotInterrupted:         func(e interruption.Event) bool { return e.Deadline.Equal(e.Time.Add(2 * time.Minute)) },
		interruption.RebalanceRecommendation: func(e interruption.Event) bool { return e.Deadline.IsZero() },
		interruption.ScheduledChange:         func(e interruption.Event) bool { return time.Until(e.Deadline) > 23*time.Hour },
		interruption.InstanceTerminated:      func(e interruption.Event) bool { return e.Deadline.Equal(e.Time) },
	}
	for kind, right := range deadlines {
		i := slices.IndexFunc(received, func(e interruption.Event) bool { return e.Kind == kind })
		switch {
		case i < 0:
			t.Errorf("no %s was received", kind)
		case received[i].InstanceID != id || !right(received[i]):
			t.Errorf("%s: %+v", kind, received[i])
		}
	}
}
