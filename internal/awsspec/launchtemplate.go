package awsspec

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// LaunchTemplate is the content of a launch template. Equal contents have the same name,
// so instances with equal settings share a template.
type LaunchTemplate struct {
	ImageID           string
	InstanceProfile   string   // name
	SecurityGroupIDs  []string // in any order
	UserData          string   // as text; EC2 expects it in base64
	Monitoring        bool
	AssociatePublicIP *bool // nil: the subnet decides
	Metadata          Metadata
	BlockDevices      []BlockDevice
	// Spot says that the template is for spot instances. It then tags the spot request
	// too, because IAM refuses the launch if the request lacks the tags that the policy
	// demands.
	Spot bool
	// Reservation is the id of the capacity reservation that instances must launch into.
	// Without it they use no reservation, not even an open one: otherwise the daemon
	// would not know which instances use a reservation, and how many places are left.
	Reservation string
	// Dedicated says that instances have hardware of their own.
	Dedicated bool `json:",omitempty"` // so that templates without keep their names
	// Tags are those of the template and of its network interfaces. The launch sets the
	// tags of instances and volumes.
	Tags map[string]string
}

// Metadata has the options of the instance metadata service; the values are EC2's.
type Metadata struct {
	HTTPEndpoint, HTTPProtocolIPv6, HTTPTokens string
	HopLimit                                   int64
}

// BlockDevice is an EBS volume. For nil and empty members EC2 uses its defaults.
type BlockDevice struct {
	DeviceName            string
	SizeGiB               int64 // 0: that of the snapshot
	Type                  string
	Encrypted             *bool
	DeleteOnTermination   *bool
	IOPS, ThroughputMiBps *int64
	KMSKeyID              string
	SnapshotID            string `json:",omitempty"` // so that templates without one keep their names
	// InitializationMiBps is how fast the snapshot is read.
	InitializationMiBps *int64 `json:",omitempty"`
}

// Digest identifies the content: 64 lowercase hex digits.
func (t LaunchTemplate) Digest() string {
	t.SecurityGroupIDs = slices.Sorted(slices.Values(t.SecurityGroupIDs))
	sum := sha256.Sum256([]byte(compactJSON(t)))
	return hex.EncodeToString(sum[:])
}

// Name is karpenter.k8s.aws/ and the first 20 digits of the digest.
func (t LaunchTemplate) Name() string { return templatePrefix + t.Digest()[:templateDigits] }

const (
	templatePrefix = "karpenter.k8s.aws/"
	templateDigits = 20
)

// NamesLaunchTemplate says whether the name is one that Name gives and Karpenter does not, which
// has the same prefix and a decimal number: one name of Name's in some 12,000 is such a number,
// and is not known as one.
func NamesLaunchTemplate(name string) bool {
	digits, ours := strings.CutPrefix(name, templatePrefix)
	return ours && len(digits) == templateDigits && strings.Trim(digits, "0123456789abcdef") == "" && strings.ContainsAny(digits, "abcdef")
}
