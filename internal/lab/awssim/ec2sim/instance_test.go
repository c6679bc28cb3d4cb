package ec2sim

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInstances_StateIsTheSameForAll(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	free := func() int {
		return do[page[subnetItem]](c, "DescribeSubnets", "SubnetId.1", c.vpc.SubnetIDs[0]).Items[0].AvailableIPs
	}
	before := free()
	c.SetCapacity(spot, "m5.large", "us-west-2a", 1)
	c.fleet(spot, "price-capacity-optimized", 1, []string{"m5.large@a"})
	i := c.Instances()[0]
	if !regexp.MustCompile(`^i-[0-9a-f]{17}$`).MatchString(i.ID) || i.PrivateIP != "10.0.0.4" || i.PrivateDNSName != "ip-10-0-0-4.us-west-2.compute.internal" {
		t.Errorf("id %q, address %q, name %q", i.ID, i.PrivateIP, i.PrivateDNSName)
	}
	if i.UserData != "hello" || i.RoleARN != "arn:aws:iam::123456789012:role/nodes" || !i.Spot || i.State != StateRunning || i.DataVolumeGiB != 30 {
		t.Errorf("instance %+v", i)
	}
	if free() != before-1 {
		t.Errorf("%d free addresses, want %d", free(), before-1)
	}
	item := do[page[reservationItem]](c, "DescribeInstances").Items[0].Instances[0]
	if item.SpotRequestID == "" || item.Lifecycle != "spot" || item.Profile.ARN != i.ProfileARN || len(item.Interfaces) != 1 || item.Groups[0].ID != c.vpc.ClusterSecurityGroupID {
		t.Errorf("DescribeInstances shows %+v", item)
	}
	volumes := do[page[volumeItem]](c, "DescribeVolumes", "Filter.1.Name", "attachment.instance-id", "Filter.1.Value.1", i.ID).Items
	enis := do[page[eniItem]](c, "DescribeNetworkInterfaces", "Filter.1.Name", "tag:team", "Filter.1.Value.1", "a").Items
	if len(volumes) != 1 || volumes[0].SizeGiB != 30 || len(enis) != 1 || enis[0].Attachment.InstanceID != i.ID {
		t.Errorf("volumes %+v, interfaces %+v", volumes, enis)
	}
	if got := errorCodes(c.fleet(spot, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 1 {
		t.Errorf("errors %v while the capacity is used up", got)
	}

	answer := do[terminateAnswer](c, "TerminateInstances", "InstanceId.1", i.ID)
	if diff := cmp.Diff(stateChangeItem{stateItem{32, StateShuttingDown}, i.ID, stateItem{16, StateRunning}}, answer.Changes[0]); diff != "" {
		t.Errorf("TerminateInstances (-want +got):\n%s", diff)
	}
	if free() != before || len(do[page[volumeItem]](c, "DescribeVolumes").Items) != 0 || len(do[page[eniItem]](c, "DescribeNetworkInterfaces").Items) != 0 {
		t.Error("the terminated instance left an address, a volume or an interface")
	}
	item = do[page[reservationItem]](c, "DescribeInstances", "InstanceId.1", i.ID).Items[0].Instances[0]
	if item.State.Name != StateTerminated || item.PrivateIP != "" || item.StateReason.Code != "Client.UserInitiatedShutdown" {
		t.Errorf("the terminated instance shows as %+v", item)
	}
	if got := errorCodes(c.fleet(spot, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 0 {
		t.Errorf("errors %v though the instance gave its capacity back", got)
	}
	for _, kind := range []string{"fleet", "spot-instances-request"} {
		if tags := do[page[tagItem]](c, "DescribeTags", "Filter.1.Name", "resource-type", "Filter.1.Value.1", kind, "Filter.2.Name", "key", "Filter.2.Value.1", "*").Items; len(tags) > 1 {
			t.Errorf("resources of kind %s outlive their instances: %v", kind, tags)
		}
	}
}

func TestTerminateInstances_AllOrNone(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	id := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
	c.refused("InvalidInstanceID.NotFound", "TerminateInstances", "InstanceId.1", id, "InstanceId.2", "i-0123456789abcdef0")
	c.refused("DryRunOperation", "TerminateInstances", "InstanceId.1", id, "DryRun", "true")
	if got := c.Instances()[0].State; got != StateRunning {
		t.Errorf("the instance is %s", got)
	}
	if access := c.asks("ec2:TerminateInstances", ":instance/"+id); access == nil || access.Resources[0].Tags["karpenter.sh/nodepool"] != "default" {
		t.Errorf("IAM saw %v, want the instance with its tags", access)
	}
}

func TestLaunch_SubnetRunsOutOfAddresses(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	small := c.SeedSubnet(SubnetSpec{VPCID: c.vpc.ID, Zone: "us-west-2a", CIDR: "10.0.255.0/28"})
	c.vpc.SubnetIDs[0] = small
	answer := c.fleet(onDemand, "lowest-price", 12, []string{"m5.large@a"})
	if got := launched(answer); got != "m5.large@a x11" || errorCodes(answer)[0] != "InsufficientFreeAddressesInSubnet" {
		t.Errorf("launched %q, errors %v", got, errorCodes(answer))
	}
}

func TestRunInstances_LaysParametersOverTheTemplate(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	pairs := []string{
		"MinCount", "1", "MaxCount", "2", "LaunchTemplate.LaunchTemplateName", "lt-a", "InstanceType", "m5.xlarge",
		"NetworkInterface.1.DeviceIndex", "0", "NetworkInterface.1.SubnetId", c.vpc.SubnetIDs[1],
		"TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key", "a", "TagSpecification.1.Tag.1.Value", "b",
	}
	c.refused("DryRunOperation", "RunInstances", append(pairs, "DryRun", "true")...)
	if len(c.Instances()) != 0 {
		t.Fatal("a dry run launched something")
	}
	answer := do[reservationItem](c, "RunInstances", pairs...)
	if len(answer.Instances) != 2 || answer.Instances[0].State.Name != StatePending {
		t.Fatalf("answer %+v", answer)
	}
	i := c.Instances()[0]
	if i.Type != "m5.xlarge" || i.SubnetID != c.vpc.SubnetIDs[1] || i.Tags["a"] != "b" || i.SecurityGroupIDs[0] != c.vpc.ClusterSecurityGroupID || i.UserData != "hello" {
		t.Errorf("instance %+v", i)
	}
	c.SetCapacity(onDemand, "m5.xlarge", "us-west-2b", 0)
	c.refused("InsufficientInstanceCapacity", "RunInstances", pairs...)
	c.refused("Unsupported", "RunInstances", append(pairs, "InstanceType", "r5.large")...)
	c.refused("InvalidPlacementGroup.Unknown", "RunInstances", append(pairs, "Placement.GroupName", "pg")...)
}

func TestLaunchTemplates_NamesVersionsAndLimits(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	data := func(size int) []string {
		return []string{"LaunchTemplateName", "lt-b", "LaunchTemplateData.UserData", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))}
	}
	c.refused("InvalidLaunchTemplateName.AlreadyExistsException", "CreateLaunchTemplate", "LaunchTemplateName", "lt-a", "LaunchTemplateData.ImageId", c.amd64)
	c.refused("InvalidUserData.Malformed", "CreateLaunchTemplate", data(16385)...)
	c.refused("InvalidUserData.Malformed", "CreateLaunchTemplate", "LaunchTemplateName", "lt-b", "LaunchTemplateData.UserData", "%%%")
	do[templateAnswer](c, "CreateLaunchTemplate", data(16384)...)
	launch := []string{"MinCount", "1", "MaxCount", "1", "InstanceType", "m5.large", "SubnetId", c.vpc.SubnetIDs[0], "LaunchTemplate.LaunchTemplateName", "lt-a", "LaunchTemplate.Version"}
	for _, version := range []string{"$Latest", "$Default", "1"} {
		if got := do[reservationItem](c, "RunInstances", append(launch, version)...).Instances; len(got) != 1 || got[0].ImageID != c.amd64 {
			t.Errorf("version %s launches %+v", version, got)
		}
	}
	c.refused("InvalidLaunchTemplateId.VersionNotFound", "RunInstances", append(launch, "2")...)
	found := do[page[templateItem]](c, "DescribeLaunchTemplates", "Filter.1.Name", "tag:karpenter.sh/nodepool", "Filter.1.Value.1", "default").Items
	if len(found) != 1 || found[0].Name != "lt-a" || found[0].Latest != 1 || found[0].Default != 1 {
		t.Errorf("templates %+v", found)
	}
	c.refused("InvalidLaunchTemplateName.NotFoundException", "DescribeLaunchTemplates", "LaunchTemplateName.1", "none")
	do[templateAnswer](c, "DeleteLaunchTemplate", "LaunchTemplateName", "lt-a")
	c.refused("InvalidLaunchTemplateName.NotFoundException", "DeleteLaunchTemplate", "LaunchTemplateName", "lt-a")
}

func TestSpotInterruption_WarnsThenTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, func(cfg *Config) {
			cfg.StartTime, cfg.StopTime, cfg.SpotNotice = time.Second, 3*time.Second, time.Minute
		})
		c.template("lt-a")
		var mu sync.Mutex
		var seen []string
		c.Watch(func(_ Instance, old, now State) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s->%s", old, now))
			c.Instances() // a watcher may call the service
		})
		start := time.Now()
		id := c.fleet(spot, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
		time.Sleep(time.Second)
		synctest.Wait()
		if err := c.WarnSpot(id); err != nil {
			t.Fatal(err)
		}
		if got := c.Instances()[0].State; got != StateRunning {
			t.Errorf("the warned instance is %s", got)
		}
		time.Sleep(time.Minute + 3*time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"->pending", "pending->running", "running->shutting-down", "shutting-down->terminated"}, seen); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		var events []string
		for _, e := range c.events {
			detail := fmt.Sprint(e.Detail)
			events = append(events, fmt.Sprintf("%v %s %s", e.Time.Sub(start), e.DetailType, strings.ReplaceAll(detail, id, "ID")))
		}
		want := []string{
			"0s EC2 Instance State-change Notification {ID pending}", "1s EC2 Instance State-change Notification {ID running}",
			"1s EC2 Spot Instance Interruption Warning {ID terminate}",
			"1m1s EC2 Instance State-change Notification {ID shutting-down}", "1m4s EC2 Instance State-change Notification {ID terminated}",
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := do[page[reservationItem]](c, "DescribeInstances").Items[0].Instances[0].StateReason.Code; got != "Server.SpotInstanceTermination" {
			t.Errorf("reason %s", got)
		}
		time.Sleep(2 * time.Hour)
		if n := len(c.Instances()); n != 0 {
			t.Errorf("%d instances are remembered for ever", n)
		}
	})
}

func TestNotices_OnlyForInstancesThatAreThere(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	id := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
	if err := c.WarnSpot(id); err == nil {
		t.Error("an on-demand instance was warned")
	}
	if err := c.ScheduleEvent(id, "instance-retirement", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	status := do[page[statusItem]](c, "DescribeInstanceStatus", "Filter.1.Name", "event.code", "Filter.1.Value.1", "instance-retirement").Items
	if len(status) != 1 || status[0].ID != id {
		t.Errorf("statuses %+v", status)
	}
	last := c.events[len(c.events)-1]
	if health, ok := last.Detail.(healthEvent); !ok || health.Entities[0].Value != id || health.TypeCode != "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED" {
		t.Errorf("event %+v", last)
	}
	if err := c.Terminate(id); err != nil {
		t.Fatal(err)
	}
	if err := c.ScheduleEvent(id, "instance-stop", time.Now()); err == nil {
		t.Error("a terminated instance got an event")
	}
}

func TestRealMemory_IsBelowTheAdvertisedByAFamilyShare(t *testing.T) {
	c := newCloud(t)
	for _, typ := range testTypes().Types {
		have, nominal := c.RealMemoryBytes(typ.Name), typ.MemoryMiB<<20
		if share := float64(nominal-have) / float64(nominal); share < 0.015 || share > 0.09 {
			t.Errorf("%s keeps %.3f of its memory from the system", typ.Name, share)
		}
	}
	small := float64(c.RealMemoryBytes("m5.large")) / (8192 << 20)
	large := float64(c.RealMemoryBytes("m5.xlarge")) / (16384 << 20)
	if large-small > 0.01 || c.RealMemoryBytes("x9.huge") != 0 {
		t.Errorf("one family differs: %.4f and %.4f", small, large)
	}
}
