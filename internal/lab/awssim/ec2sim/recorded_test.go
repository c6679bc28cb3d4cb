package ec2sim

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

var update = flag.Bool("update", false, "write testdata/answers.txt")

// Whoever changes how lists are made sees here what that does to their answers. Each list is
// recorded whole; then the ids that each of its filters lets through.
func TestDescribe_AnswersAreAsRecorded(t *testing.T) {
	c := furnished(t)
	var got strings.Builder
	for _, list := range recordedLists(c) {
		whole := c.children(list.action, list.pairs...)
		got.WriteString(strings.Join(append([]string{"# " + list.action}, list.pairs...), " ") + "\n")
		for _, item := range whole {
			item.write(&got, "  ")
		}
		for _, filter := range list.filters {
			name, value, _ := strings.Cut(filter, "=")
			pairs := append([]string{"Filter.1.Name", name, "Filter.1.Value.1", value}, list.pairs...)
			var ids []string
			for _, item := range c.children(list.action, pairs...) {
				ids = append(ids, item.texts(list.key)...)
			}
			got.WriteString(strings.TrimRight("  "+filter+": "+strings.Join(ids, " "), " ") + "\n")
		}
	}
	const file = "testdata/answers.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, now := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for n := range max(len(before), len(now)) {
		if n >= len(before) || n >= len(now) || before[n] != now[n] {
			t.Fatalf("line %d differs from %s:\nwas %q\nis  %q\nRead the difference with -update and git diff.", n+1, file, before[min(n, len(before)-1)], now[min(n, len(now)-1)])
		}
	}
}

// recordedList is a Describe action with what identifies its items, and values of its filters.
type recordedList struct {
	action, key string
	pairs       []string // further parameters
	filters     []string // name=value
}

func recordedLists(c *cloud) []recordedList {
	const team = "tag:team=a"
	ids := c.vpc.SubnetIDs
	return []recordedList{
		{"DescribeSubnets", "subnetId", nil, []string{
			"availability-zone=us-west-2b", "availability-zone-id=usw2-az?", "available-ip-address-count=16379", "cidr-block=10.0.*", "default-for-az=false",
			"map-public-ip-on-launch=true", "owner-id=123456789012", "state=available", "subnet-arn=*" + ids[1], "subnet-id=" + ids[1], "vpc-id=" + c.vpc.ID, team, "tag-key=t*",
		}},
		{"DescribeSecurityGroups", "groupId", nil, []string{
			"description=default*", "group-id=" + c.vpc.ClusterSecurityGroupID, "group-name=eks-*", "owner-id=1*", "vpc-id=" + c.vpc.ID, team,
		}},
		{"DescribeRouteTables", "routeTableId", nil, []string{
			"association.main=true", "association.subnet-id=" + ids[2], "route-table-id=*01", "route.gateway-id=igw-*", "vpc-id=" + c.vpc.ID, team,
		}},
		{"DescribeImages", "imageId", []string{"IncludeDeprecated", "true"}, []string{
			"architecture=arm64", "creation-date=2026-*", "description=own", "ena-support=true", "hypervisor=xen", "image-id=" + c.amd64, "image-type=machine", "is-public=true",
			"name=al2023-*", "owner-alias=amazon", "owner-id=123456789012", "platform=windows", "root-device-name=/dev/sda1", "root-device-type=ebs", "state=available",
			"virtualization-type=hvm", team,
		}},
		{"DescribeLaunchTemplates", "launchTemplateId", nil, []string{"create-time=2026*", "launch-template-name=lt-a", "tag-key=karpenter.sh/nodepool"}},
		{"DescribeInstances", "instanceId", nil, []string{
			"architecture=x86_64", "availability-zone=us-west-2b", "availability-zone-id=usw2-az1", "client-token=once", "iam-instance-profile.arn=*/nodes", "iam-instance-profile.id=AIPA1",
			"image-id=" + c.arm64, "instance-id=i-0*", "instance-lifecycle=spot", "instance-state-code=48", "instance-state-name=running", "instance-type=m5.large",
			"instance.group-id=" + c.vpc.ClusterSecurityGroupID, "launch-time=2026*", "private-dns-name=ip-10-0-0-4*", "private-ip-address=10.0.0.*",
			"network-interface.addresses.private-ip-address=10.0.0.4", "spot-instance-request-id=sir-*", "state-reason-code=Client.*", "subnet-id=" + ids[0],
			"tenancy=default", "vpc-id=" + c.vpc.ID, team, "tag-key=aws:ec2:fleet-id",
		}},
		{"DescribeInstanceStatus", "instanceId", []string{"IncludeAllInstances", "true"}, []string{
			"availability-zone=us-west-2a", "availability-zone-id=usw2-az2", "event.code=instance-stop", "event.instance-event-id=instance-event-*", "event.not-before=2026*",
			"instance-state-code=16", "instance-state-name=terminated", "instance-status.status=ok", "system-status.status=not-applicable",
		}},
		{"DescribeVolumes", "volumeId", nil, []string{
			"attachment.delete-on-termination=true", "attachment.device=/dev/xvd?", "attachment.instance-id=i-*", "availability-zone=us-west-2b", "availability-zone-id=usw2-az1",
			"encrypted=true", "size=30", "status=in-use", "volume-id=vol-*", "volume-type=gp?", team,
		}},
		{"DescribeNetworkInterfaces", "networkInterfaceId", nil, []string{
			"attachment.instance-id=i-*", "availability-zone=us-west-2b", "group-id=" + c.vpc.ClusterSecurityGroupID, "interface-type=interface", "network-interface-id=eni-*",
			"private-ip-address=10.0.0.4", "addresses.private-ip-address=10.0.0.4", "status=in-use", "subnet-id=" + ids[0], "vpc-id=" + c.vpc.ID, team,
		}},
		{"DescribeCapacityReservations", "capacityReservationId", nil, []string{
			"availability-zone=us-west-2a", "end-date-type=limited", "instance-match-criteria=open", "instance-platform=Linux/UNIX", "instance-type=m5.large", "owner-id=210987654321",
			"state=active", "tenancy=default", team,
		}},
		{"DescribePlacementGroups", "groupId", nil, []string{"group-name=*", "state=available", team}},
		{"DescribeInstanceTypes", "instanceType", nil, []string{
			"bare-metal=true", "burstable-performance-supported=false", "current-generation=true", "hypervisor=nitro", "instance-storage-supported=true", "instance-type=m*.large",
			"memory-info.size-in-mib=8192", "network-info.efa-supported=true", "network-info.encryption-in-transit-supported=true", "network-info.maximum-network-interfaces=3",
			"processor-info.supported-architecture=arm64", "supported-root-device-type=ebs", "supported-usage-class=spot", "supported-virtualization-type=hvm", "vcpu-info.default-vcpus=4",
		}},
		{"DescribeInstanceTypeOfferings", "location", []string{"LocationType", "availability-zone"}, []string{"instance-type=r5.large", "location=us-west-2b"}},
		{"DescribeInstanceTypeOfferings", "instanceType", nil, []string{"instance-type=r5.large"}},
		{"DescribeSpotPriceHistory", "instanceType", []string{"Filter.2.Name", "instance-type", "Filter.2.Value.1", "m5.large", "Filter.2.Value.2", "r5.large"}, []string{
			"availability-zone=us-west-2b", "availability-zone-id=usw2-az1", "instance-type=r5.large", "product-description=Linux/UNIX", "spot-price=0.03*", "timestamp=2026*",
		}},
		{"DescribeTags", "resourceId", nil, []string{"key=team", "resource-id=subnet-*", "resource-type=volume", "value=a"}},
	}
}

// furnishedTypes have one that has everything but inference chips, which the next has.
func furnishedTypes() Offered {
	all := testTypes()
	all.Types = append(all.Types, Type{Zones: []string{"us-west-2c"}, Fact: catalog.Fact{
		Name: "p4d.metal", Arch: "amd64", VCPU: 96, MemoryMiB: 1179648, CPUManufacturer: "intel", ClockMHz: 3000, BareMetal: true, Burstable: true,
		ENIs: 15, IPv4PerENI: 50, NetworkMbps: 400000, EBSMbps: 19000, EBSVolumes: 28, SharedEBSSlots: true, EFAs: 4, NVMeGB: 8000, EncryptionInTransit: true,
		NestedVirtualization: true, UsageClasses: []string{"capacity-block"}, GPUName: "a100", GPUManufacturer: "nvidia", GPUCount: 8, GPUMemoryMiB: 40960,
		AcceleratorName: "trainium", NeuronDevices: 2, NeuronCores: 4,
	}}, Type{Zones: []string{"us-west-2c"}, Fact: catalog.Fact{
		Name: "inf1.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, CPUManufacturer: "intel", Hypervisor: "nitro", ENIs: 3, IPv4PerENI: 10,
		AcceleratorName: "inferentia", AcceleratorManufacturer: "aws", AcceleratorCount: 1,
	}})
	return all
}

// furnished is a cloud with something of each kind.
func furnished(t *testing.T) *cloud {
	t.Helper()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	c := newCloud(t, func(cfg *Config) { cfg.Now, cfg.Offered = func() time.Time { return now }, furnishedTypes() })
	team := map[string]string{"team": "a"}
	public := c.SeedSubnet(SubnetSpec{VPCID: c.vpc.ID, Zone: "us-west-2b", CIDR: "10.0.255.0/28", MapPublicIPOnLaunch: true, Tags: team})
	c.SeedPublicRouteTable(c.vpc.ID, public, c.vpc.SubnetIDs[2])
	c.addGroup(c.vpcs[c.vpc.ID], "nodes", "of nodes", team)
	c.SeedImage(Image{Name: "own", Description: "own", Arch: "arm64", OwnerID: "123456789012", RootDevice: "/dev/sda1", RootGiB: 8, Created: now, Deprecated: now.Add(time.Hour), Tags: team})
	c.SeedImage(Image{Name: "windows", Arch: "amd64", Platform: "windows", Created: now.Add(-time.Hour), Deprecated: now.Add(-time.Minute)})
	reserved := c.SeedReservation(Reservation{InstanceType: "c5.large", Zone: "us-west-2a", Count: 3, Tags: team})
	c.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2b", Count: 1, Match: "open", OwnerID: "210987654321", End: now.Add(time.Hour)})
	c.template("lt-a")
	c.template("lt-reserved", in(reserved)...)
	c.fleet(onDemand, "lowest-price", 2, []string{"m5.large@a"})
	c.fleet(spot, "lowest-price", 1, []string{"m5.xlarge@a"})
	c.fleet(onDemand, "lowest-price", 1, []string{"c5.large@a"}, "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName", "lt-reserved")
	do[reservationItem](c, "RunInstances", "MinCount", "1", "MaxCount", "1", "InstanceType", "m6g.large", "ImageId", c.arm64, "SubnetId", public, "ClientToken", "once",
		"BlockDeviceMapping.1.DeviceName", "/dev/xvda", "BlockDeviceMapping.1.Ebs.Encrypted", "true", "MetadataOptions.HttpTokens", "required", "Monitoring.Enabled", "true",
		"TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key", "team", "TagSpecification.1.Tag.1.Value", "a",
		"TagSpecification.2.ResourceType", "volume", "TagSpecification.2.Tag.1.Key", "team", "TagSpecification.2.Tag.1.Value", "a")
	do[terminateAnswer](c, "TerminateInstances", "InstanceId.1", c.Instances()[1].ID)
	if err := c.ScheduleEvent(c.Instances()[0].ID, "instance-stop", now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return c
}

// node is an element of an answer.
type node struct {
	XMLName  xml.Name
	Text     string `xml:",chardata"`
	Children []node `xml:",any"`
}

// children are the members of the answer to an action.
func (c *cloud) children(action string, pairs ...string) []node {
	c.t.Helper()
	answer, err := c.call(action, pairs...)
	if err != nil {
		c.t.Fatalf("%s %v: %v", action, pairs, err)
	}
	var text bytes.Buffer
	if err := xml.NewEncoder(&text).EncodeElement(answer, xml.StartElement{Name: xml.Name{Local: action + "Response"}}); err != nil {
		c.t.Fatal(err)
	}
	var root node
	if err := xml.Unmarshal(text.Bytes(), &root); err != nil {
		c.t.Fatal(err)
	}
	return root.Children
}

// write writes the element, a line each for it and its members.
func (n node) write(to *strings.Builder, indent string) {
	to.WriteString(strings.TrimRight(indent+n.XMLName.Local+" "+n.Text, " ") + "\n")
	for _, child := range n.Children {
		child.write(to, indent+"  ")
	}
}

// texts are those of all elements of the name, each once.
func (n node) texts(name string) []string {
	if n.XMLName.Local == name {
		return []string{n.Text}
	}
	var all []string
	for _, child := range n.Children {
		for _, text := range child.texts(name) {
			if len(all) == 0 || all[len(all)-1] != text {
				all = append(all, text)
			}
		}
	}
	return all
}
