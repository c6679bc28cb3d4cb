package awsspec

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// LaunchTemplate is the content of a launch template. Equal contents have one
// name, so that instances which differ in nothing share a template.
type LaunchTemplate struct {
	ImageID           string
	InstanceProfile   string   // name
	SecurityGroupIDs  []string // in any order
	UserData          string   // as text; EC2 takes it in base64
	Monitoring        bool
	AssociatePublicIP *bool // nil: as the subnet says
	Metadata          Metadata
	BlockDevices      []BlockDevice
	// Spot templates tag the spot request too: a launch whose spot request has
	// not the tags that the policy demands is refused.
	Spot bool
	// Reservation is the capacity reservation that instances go into, or fail.
	// Without one they keep out of all, also of open ones: whose they are and
	// what is left of them would not be known otherwise.
	Reservation string
	// Tags of the template itself and of its network interfaces; instances and
	// volumes are tagged by the launch.
	Tags map[string]string
}

// Metadata options of the instance metadata service, in EC2's words.
type Metadata struct {
	HTTPEndpoint, HTTPProtocolIPv6, HTTPTokens string
	HopLimit                                   int64
}

// BlockDevice is an EBS volume; nil and empty members are left to EC2.
type BlockDevice struct {
	DeviceName            string
	SizeGiB               int64
	Type                  string
	Encrypted             *bool
	DeleteOnTermination   *bool
	IOPS, ThroughputMiBps *int64
	KMSKeyID              string
}

// DefaultBlockDevices are AL2023's where a class has none: one encrypted root volume.
func DefaultBlockDevices() []BlockDevice {
	encrypted := true
	return []BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 20, Type: "gp3", Encrypted: &encrypted}}
}

// Digest identifies the content: 64 lower hex digits.
func (t LaunchTemplate) Digest() string {
	t.SecurityGroupIDs = slices.Sorted(slices.Values(t.SecurityGroupIDs))
	sum := sha256.Sum256([]byte(compactJSON(t)))
	return hex.EncodeToString(sum[:])
}

// Name is karpenter.k8s.aws/ and the first 20 digits of the digest.
func (t LaunchTemplate) Name() string { return "karpenter.k8s.aws/" + t.Digest()[:20] }
