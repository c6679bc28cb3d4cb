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
// which RunInstances can also give inline.
type launchData struct {
	BlockDevices     []blockDevice    `q:"BlockDeviceMapping"`
	Reservation      *reservationSpec `q:"CapacityReservationSpecification"`
	CPU              *cpuOptions      `q:"CpuOptions"`
	EBSOptimized     *bool            `q:"EbsOptimized"`
	Enclave          *enclaveOptions  `q:"EnclaveOptions"`
	Profile          *profileSpec     `q:"IamInstanceProfile"`
	ImageID          string           `q:"ImageId"`
	Market           *marketOptions   `q:"InstanceMarketOptions"`
	InstanceType     string           `q:"InstanceType"`
	Metadata         *metadataOptions `q:"MetadataOptions"`
	Monitoring       *monitoring      `q:"Monitoring"`
	Interfaces       []interfaceSpec  `q:"NetworkInterface"`
	Placement        *placement       `q:"Placement"`
	SecurityGroupIDs []string         `q:"SecurityGroupId"`
	TagSpecs         []tagSpec        `q:"TagSpecification"`
	UserData         string           `q:"UserData"`
}

// overlay lays what a launch gives over the data of its template: fields that
// are set replace the template's, network interfaces do so one by one.
func overlay(base, over launchData) launchData {
	interfaces := slices.Clone(base.Interfaces)
	base = laid(base, over)
	for _, given := range over.Interfaces {
		at := slices.IndexFunc(interfaces, func(n interfaceSpec) bool {
			return value(n.DeviceIndex) == value(given.DeviceIndex) && value(n.Card) == value(given.Card)
		})
		if at < 0 {
			interfaces = append(interfaces, given)
			continue
		}
		interfaces[at] = laid(interfaces[at], given)
	}
	base.Interfaces = interfaces
	return base
}

// laid is a struct with those fields of another over it that are set.
func laid[T any](base, over T) T {
	to, from := reflect.ValueOf(&base).Elem(), reflect.ValueOf(over)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return base
}

type blockDevice struct {
	Name string   `q:"DeviceName,required"`
	EBS  *ebsSpec `q:"Ebs"`
}

type ebsSpec struct {
	DeleteOnTermination *bool  `q:"DeleteOnTermination"`
	Encrypted           *bool  `q:"Encrypted"`
	IOPS                *int64 `q:"Iops"`
	KMSKeyID            string `q:"KmsKeyId"`
	SnapshotID          string `q:"SnapshotId"`
	Throughput          *int64 `q:"Throughput"`
	InitializationRate  *int64 `q:"VolumeInitializationRate"`
	SizeGiB             *int64 `q:"VolumeSize"`
	Type                string `q:"VolumeType"`
}

type reservationSpec struct {
	Preference string             `q:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty"`
	Target     *reservationTarget `q:"CapacityReservationTarget" xml:"capacityReservationTarget"`
}

type reservationTarget struct {
	ID string `q:"CapacityReservationId" xml:"capacityReservationId,omitempty"`
}

type cpuOptions struct {
	Nested string `q:"NestedVirtualization"`
}

type enclaveOptions struct {
	Enabled *bool `q:"Enabled"`
}

type profileSpec struct {
	ARN  string `q:"Arn"`
	Name string `q:"Name"`
}

type marketOptions struct {
	Type string `q:"MarketType"`
}

type metadataOptions struct {
	Endpoint string `q:"HttpEndpoint"`
	IPv6     string `q:"HttpProtocolIpv6"`
	HopLimit *int64 `q:"HttpPutResponseHopLimit"`
	Tokens   string `q:"HttpTokens"`
	Tags     string `q:"InstanceMetadataTags"`
}

type monitoring struct {
	Enabled *bool `q:"Enabled"`
}

type interfaceSpec struct {
	PublicIP            *bool               `q:"AssociatePublicIpAddress"`
	Tracking            *connectionTracking `q:"ConnectionTrackingSpecification"`
	DeleteOnTermination *bool               `q:"DeleteOnTermination"`
	Description         string              `q:"Description"`
	DeviceIndex         *int64              `q:"DeviceIndex"`
	Groups              []string            `q:"SecurityGroupId"`
	Type                string              `q:"InterfaceType"`
	Card                *int64              `q:"NetworkCardIndex"`
	SubnetID            string              `q:"SubnetId"`
}

type connectionTracking struct {
	TCPEstablished *int64 `q:"TcpEstablishedTimeout"`
	UDPStream      *int64 `q:"UdpStreamTimeout"`
	UDP            *int64 `q:"UdpTimeout"`
}

type placement struct {
	Zone      string `q:"AvailabilityZone"`
	GroupID   string `q:"GroupId"`
	GroupName string `q:"GroupName"`
	Partition *int64 `q:"PartitionNumber"`
	Tenancy   string `q:"Tenancy"`
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
