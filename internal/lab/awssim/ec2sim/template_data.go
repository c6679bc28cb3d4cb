package ec2sim

import (
	"encoding/base64"
	"reflect"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// maxUserData is EC2's limit in bytes, before base64.
const maxUserData = 16384

// launchData says how to launch an instance: the data of a launch template,
// which RunInstances can also give inline. Names in q are the request's, in
// xml those of DescribeLaunchTemplateVersions.
type launchData struct {
	BlockDevices     set[blockDevice]   `q:"BlockDeviceMapping" xml:"blockDeviceMappingSet,omitempty"`
	Reservation      *reservationSpec   `q:"CapacityReservationSpecification" xml:"capacityReservationSpecification"`
	CPU              *cpuOptions        `q:"CpuOptions" xml:"cpuOptions"`
	DisableStop      *bool              `q:"DisableApiStop" xml:"disableApiStop"`
	EBSOptimized     *bool              `q:"EbsOptimized" xml:"ebsOptimized"`
	Enclave          *enclaveOptions    `q:"EnclaveOptions" xml:"enclaveOptions"`
	Profile          *profileSpec       `q:"IamInstanceProfile" xml:"iamInstanceProfile"`
	ImageID          string             `q:"ImageId" xml:"imageId,omitempty"`
	ShutdownBehavior string             `q:"InstanceInitiatedShutdownBehavior" xml:"instanceInitiatedShutdownBehavior,omitempty"`
	Market           *marketOptions     `q:"InstanceMarketOptions" xml:"instanceMarketOptions"`
	InstanceType     string             `q:"InstanceType" xml:"instanceType,omitempty"`
	KeyName          string             `q:"KeyName" xml:"keyName,omitempty"`
	Metadata         *metadataOptions   `q:"MetadataOptions" xml:"metadataOptions"`
	Monitoring       *monitoring        `q:"Monitoring" xml:"monitoring"`
	Interfaces       set[interfaceSpec] `q:"NetworkInterface" xml:"networkInterfaceSet,omitempty"`
	Placement        *placement         `q:"Placement" xml:"placement"`
	SecurityGroupIDs set[string]        `q:"SecurityGroupId" xml:"securityGroupIdSet,omitempty"`
	TagSpecs         set[tagSpec]       `q:"TagSpecification" xml:"tagSpecificationSet,omitempty"`
	UserData         string             `q:"UserData" xml:"userData,omitempty"`
}

// overlay lays what a launch gives over the data of its template: fields that
// are set replace the template's, network interfaces do so one by one.
func overlay(base, over launchData) launchData {
	to, from := reflect.ValueOf(&base).Elem(), reflect.ValueOf(over)
	interfaces := base.Interfaces
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	base.Interfaces = slices.Clone(interfaces)
	for _, given := range over.Interfaces {
		at := slices.IndexFunc(base.Interfaces, func(n interfaceSpec) bool {
			return value(n.DeviceIndex) == value(given.DeviceIndex) && value(n.Card) == value(given.Card)
		})
		if at < 0 {
			base.Interfaces = append(base.Interfaces, given)
			continue
		}
		merged := base.Interfaces[at]
		if given.SubnetID != "" {
			merged.SubnetID = given.SubnetID
		}
		if given.Groups != nil {
			merged.Groups = given.Groups
		}
		if given.PublicIP != nil {
			merged.PublicIP = given.PublicIP
		}
		if given.Type != "" {
			merged.Type = given.Type
		}
		base.Interfaces[at] = merged
	}
	return base
}

type blockDevice struct {
	Name     string   `q:"DeviceName,required" xml:"deviceName"`
	EBS      *ebsSpec `q:"Ebs" xml:"ebs"`
	NoDevice *string  `q:"NoDevice" xml:"noDevice"`
}

type ebsSpec struct {
	DeleteOnTermination *bool  `q:"DeleteOnTermination" xml:"deleteOnTermination"`
	Encrypted           *bool  `q:"Encrypted" xml:"encrypted"`
	IOPS                *int64 `q:"Iops" xml:"iops"`
	KMSKeyID            string `q:"KmsKeyId" xml:"kmsKeyId,omitempty"`
	SnapshotID          string `q:"SnapshotId" xml:"snapshotId,omitempty"`
	Throughput          *int64 `q:"Throughput" xml:"throughput"`
	InitializationRate  *int64 `q:"VolumeInitializationRate" xml:"volumeInitializationRate"`
	SizeGiB             *int64 `q:"VolumeSize" xml:"volumeSize"`
	Type                string `q:"VolumeType" xml:"volumeType,omitempty"`
}

type reservationSpec struct {
	Preference string             `q:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty"`
	Target     *reservationTarget `q:"CapacityReservationTarget" xml:"capacityReservationTarget"`
}

type reservationTarget struct {
	ID       string `q:"CapacityReservationId" xml:"capacityReservationId,omitempty"`
	GroupARN string `q:"CapacityReservationResourceGroupArn" xml:"capacityReservationResourceGroupArn,omitempty"`
}

type cpuOptions struct {
	Cores          *int64 `q:"CoreCount" xml:"coreCount"`
	Nested         string `q:"NestedVirtualization" xml:"nestedVirtualization,omitempty"`
	ThreadsPerCore *int64 `q:"ThreadsPerCore" xml:"threadsPerCore"`
}

type enclaveOptions struct {
	Enabled *bool `q:"Enabled" xml:"enabled"`
}

type profileSpec struct {
	ARN  string `q:"Arn" xml:"arn,omitempty"`
	Name string `q:"Name" xml:"name,omitempty"`
}

type marketOptions struct {
	Type string `q:"MarketType" xml:"marketType,omitempty"`
}

type metadataOptions struct {
	Endpoint string `q:"HttpEndpoint" xml:"httpEndpoint,omitempty"`
	IPv6     string `q:"HttpProtocolIpv6" xml:"httpProtocolIpv6,omitempty"`
	HopLimit *int64 `q:"HttpPutResponseHopLimit" xml:"httpPutResponseHopLimit"`
	Tokens   string `q:"HttpTokens" xml:"httpTokens,omitempty"`
	Tags     string `q:"InstanceMetadataTags" xml:"instanceMetadataTags,omitempty"`
}

type monitoring struct {
	Enabled *bool `q:"Enabled" xml:"enabled"`
}

type interfaceSpec struct {
	PublicIP            *bool               `q:"AssociatePublicIpAddress" xml:"associatePublicIpAddress"`
	Tracking            *connectionTracking `q:"ConnectionTrackingSpecification" xml:"connectionTrackingSpecification"`
	DeleteOnTermination *bool               `q:"DeleteOnTermination" xml:"deleteOnTermination"`
	Description         string              `q:"Description" xml:"description,omitempty"`
	DeviceIndex         *int64              `q:"DeviceIndex" xml:"deviceIndex"`
	Groups              groupIDs            `q:"SecurityGroupId" xml:"groupSet,omitempty"`
	Type                string              `q:"InterfaceType" xml:"interfaceType,omitempty"`
	Card                *int64              `q:"NetworkCardIndex" xml:"networkCardIndex"`
	SubnetID            string              `q:"SubnetId" xml:"subnetId,omitempty"`
}

type connectionTracking struct {
	TCPEstablished *int64 `q:"TcpEstablishedTimeout" xml:"tcpEstablishedTimeout"`
	UDPStream      *int64 `q:"UdpStreamTimeout" xml:"udpStreamTimeout"`
	UDP            *int64 `q:"UdpTimeout" xml:"udpTimeout"`
}

type placement struct {
	Zone      string `q:"AvailabilityZone" xml:"availabilityZone,omitempty"`
	GroupID   string `q:"GroupId" xml:"groupId,omitempty"`
	GroupName string `q:"GroupName" xml:"groupName,omitempty"`
	Partition *int64 `q:"PartitionNumber" xml:"partitionNumber"`
	Tenancy   string `q:"Tenancy" xml:"tenancy,omitempty"`
}

// check refuses what EC2 refuses without looking at any other resource.
func (d *launchData) check() error {
	if _, err := decodeUserData(d.UserData); err != nil {
		return err
	}
	if len(d.Interfaces) > 0 && len(d.SecurityGroupIDs) > 0 {
		return wire.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	if err := checkTagSpecs(d.TagSpecs, kindInstance, kindVolume, kindInterface, kindSpotRequest); err != nil {
		return err
	}
	if m := d.Metadata; m != nil {
		if err := m.check(); err != nil {
			return err
		}
	}
	for _, device := range d.BlockDevices {
		if err := device.check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *metadataOptions) check() error {
	if m.HopLimit != nil && (*m.HopLimit < 1 || *m.HopLimit > 64) {
		return invalidValue("MetadataOptions.HttpPutResponseHopLimit", *m.HopLimit, "Expected a value between 1 and 64.")
	}
	for _, field := range []struct{ name, value, a, b string }{
		{"HttpEndpoint", m.Endpoint, "enabled", "disabled"},
		{"HttpProtocolIpv6", m.IPv6, "enabled", "disabled"},
		{"HttpTokens", m.Tokens, "required", "optional"},
		{"InstanceMetadataTags", m.Tags, "enabled", "disabled"},
	} {
		if field.value != "" && field.value != field.a && field.value != field.b {
			return invalidValue("MetadataOptions."+field.name, field.value, "Expected "+field.a+" or "+field.b+".")
		}
	}
	return nil
}

func (b blockDevice) check() error {
	if b.EBS == nil {
		return nil
	}
	switch b.EBS.Type {
	case "", "standard", "io1", "io2", "gp2", "gp3", "sc1", "st1":
	default:
		return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter volumeType is invalid. Expected: 'standard', 'io1', 'io2', 'gp2', 'gp3', 'sc1', 'st1'.", b.EBS.Type)
	}
	if b.EBS.SizeGiB != nil && (*b.EBS.SizeGiB < 1 || *b.EBS.SizeGiB > 65536) {
		return wire.Errorf("InvalidParameterValue", "Volume of %dGiB is out of bounds; expected between 1GiB and 65536GiB", *b.EBS.SizeGiB)
	}
	return nil
}

func decodeUserData(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(raw) > maxUserData {
		return "", wire.Errorf("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserData)
	}
	return string(raw), nil
}
