package catalog

import (
	"strconv"
	"strings"
)

// Fact is what EC2 says about an instance type, whatever the region. Zero and ""
// mean that the type has no such thing, or that EC2 does not say.
type Fact struct {
	Name string // "m5.large"
	Arch string // amd64 or arm64

	VCPU            int
	MemoryMiB       int64
	CPUManufacturer string // intel, amd, aws
	ClockMHz        int    // sustained
	Hypervisor      string // nitro, xen, or "" for bare metal

	BareMetal            bool
	Burstable            bool
	CurrentGeneration    bool
	EncryptionInTransit  bool
	NestedVirtualization bool
	SharedEBSSlots       bool // network interfaces take slots of EBS volumes

	ENIs        int // of the default network card
	IPv4PerENI  int
	BranchENIs  int // network interfaces of pods with security groups of their own
	NetworkMbps int // baseline
	EBSMbps     int // maximum, of types that are always EBS-optimized
	EBSVolumes  int // attached at once, the root volume among them
	EFAs        int
	NVMeGB      int // all instance-store disks together, decimal gigabytes

	GPUName, GPUManufacturer string
	GPUCount                 int
	GPUMemoryMiB             int64 // of each GPU

	AcceleratorName, AcceleratorManufacturer string
	AcceleratorCount                         int
	NeuronDevices, NeuronCores               int

	UsageClasses []string // of "on-demand" and "spot", sorted

	// What the name itself says; see ParseName.
	NameParts
}

// NameParts is what the name of an instance type says about the type.
type NameParts struct {
	Category   string // "m", "inf", "u"; "" if the name does not follow the pattern
	Generation int    // 0 if the name does not follow the pattern
	Family     string // "m7i-flex"
	Size       string // "large"
	Flex       bool
}

// ParseName splits the name of an instance type. The family begins with letters,
// the category, and a number, the generation. In high-memory families the size
// may stand between the two: u-12tb1 has category u and generation 1.
func ParseName(name string) NameParts {
	family, size, dotted := strings.Cut(name, ".")
	if !dotted || strings.Contains(size, ".") {
		return NameParts{Family: family}
	}
	parts := NameParts{Family: family, Size: size, Flex: strings.Contains(family, "-flex")}
	letters, rest := cutRun(family, func(c byte) bool { return 'a' <= c && c <= 'z' })
	if after, dashed := strings.CutPrefix(rest, "-"); dashed {
		digits, tail := cutRun(after, isDigit)
		tail, isSize := strings.CutPrefix(tail, "tb")
		if digits == "" || !isSize {
			return parts
		}
		rest = tail
	}
	digits, _ := cutRun(rest, isDigit)
	generation, err := strconv.Atoi(digits)
	if letters == "" || err != nil {
		return parts
	}
	parts.Category, parts.Generation = letters, generation
	return parts
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// cutRun splits s after its longest prefix of bytes that satisfy in.
func cutRun(s string, in func(byte) bool) (run, rest string) {
	i := 0
	for i < len(s) && in(s[i]) {
		i++
	}
	return s[:i], s[i:]
}
