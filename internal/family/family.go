package family

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Family is a family of images.
type Family interface {
	// Name is the one in spec.amiFamily.
	Name() string
	// Parameters name the SSM parameters with the ids of the images of a release, the
	// standard images first. kubernetes is a minor version such as 1.36. The error says how an
	// alias of the family is written.
	Parameters(kubernetes, release string) ([]Parameter, error)
	// UserData is the text from which an instance learns how to join the cluster. The error
	// names the field and the remedy.
	UserData(n Node) (string, error)
	// Volumes are those of an instance whose class maps none; nil for those of the image.
	Volumes() []awsspec.BlockDevice
	// PodVolume is the device with the files of pods; empty where only the image knows it.
	PodVolume() string
	// Adapt changes what the kubelet of the family does otherwise than AL2023's.
	Adapt(s *catalog.Settings)
	// Ignores names the settings of the kubelet that the family does not carry out.
	Ignores(k awsv1.KubeletConfiguration) []Ignored
}

// Ignored is a setting of the kubelet that has no effect, or another one.
type Ignored struct {
	Field          string // below spec.kubelet
	Effect, Remedy string
	Refused        bool // the class is not ready with it
}

// families are all that the daemon launches. The first is the one of an unknown class.
func families() []Family { return []Family{al2023{}, bottlerocket{}, al2{}, custom{}} }

// Names are the values of spec.amiFamily that the daemon carries out.
func Names() (names []string) {
	for _, f := range families() {
		names = append(names, f.Name())
	}
	return names
}

// Of returns the family of the class: that of spec.amiFamily, or else of the alias. A
// class of a family that the daemon does not know is never launched; it counts as AL2023.
func Of(class *awsv1.EC2NodeClass) Family {
	name := class.Spec.AMIFamily
	if name == "" && len(class.Spec.AMISelectorTerms) > 0 {
		name, _, _ = strings.Cut(class.Spec.AMISelectorTerms[0].Alias, "@")
	}
	all := families()
	if i := slices.IndexFunc(all, func(f Family) bool { return strings.EqualFold(f.Name(), name) }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// NeedsServiceCIDR says whether nodes of the class are no good in a cluster whose services'
// CIDR nobody knows: those of AL2023 do not join, and those of AL2 and Bottlerocket guess the
// address of the cluster's DNS unless the class names it.
func NeedsServiceCIDR(class *awsv1.EC2NodeClass) bool {
	switch Of(class).(type) {
	case al2023:
		return true
	case al2, bottlerocket:
		return class.Spec.Kubelet == nil || len(class.Spec.Kubelet.ClusterDNS) == 0
	}
	return false
}

// Latest is the release of an alias for the image that is recommended now.
const Latest = "latest"

// Alias names the images of a release of a family.
type Alias struct {
	Family  Family
	Release string
}

// AliasOf returns the alias of the class, and whether its images are found by one.
func AliasOf(class *awsv1.EC2NodeClass) (alias Alias, is bool, err error) {
	terms := class.Spec.AMISelectorTerms
	if len(terms) != 1 || terms[0].Alias == "" {
		return Alias{}, false, nil
	}
	alias, err = ParseAlias(terms[0].Alias)
	return alias, true, err
}

// ParseAlias reads an alias such as al2023@latest.
func ParseAlias(text string) (Alias, error) {
	name, release, _ := strings.Cut(text, "@")
	for _, f := range families() {
		if strings.ToLower(f.Name()) != name {
			continue
		}
		if _, err := f.Parameters("", release); err != nil {
			return Alias{}, fmt.Errorf("image alias %q: %w", text, err)
		}
		return Alias{f, release}, nil
	}
	return Alias{}, fmt.Errorf("image alias %q: no such family: write al2023, bottlerocket or al2, as in al2023@%s", text, Latest)
}

// Parameters name the SSM parameters with the ids of the alias's images.
func (a Alias) Parameters(kubernetes string) []Parameter {
	parameters, _ := a.Family.Parameters(kubernetes, a.Release) // ParseAlias has read the release
	return parameters
}

// String is the alias as it is written.
func (a Alias) String() string { return strings.ToLower(a.Family.Name()) + "@" + a.Release }

// Parameter is an SSM parameter that has the id of an image.
type Parameter struct {
	Name     string
	Variants []Variant // that the image is for
}

// Variant says which instance types an image is for.
type Variant struct {
	Arch string // Kubernetes' name: amd64 or arm64
	Kind string // Standard, Nvidia or Neuron; empty for all types of the architecture
}

// Kinds of a Variant.
const (
	Standard = "standard"
	Nvidia   = "nvidia"
	Neuron   = "neuron"
)

// eksParameters is the path of the SSM parameters of EKS's images. Source: EKS user guide,
// "Retrieve recommended Amazon Linux AMI IDs".
const eksParameters = awsspec.PublicParameters + "eks/optimized-ami/"

// checkRelease says how an alias of Amazon Linux is written.
func checkRelease(family, release, example string) error {
	if regexp.MustCompile(`^(latest|v[0-9]+)$`).MatchString(release) {
		return nil
	}
	return fmt.Errorf("must be %[1]s@latest or %[1]s@v<release>, such as %[1]s@%[2]s", family, example)
}

// parameterOf is the part of the SSM parameter's name that says which release of the image
// it has.
func parameterOf(image, kubernetes, release string) string {
	if release == Latest {
		return "recommended"
	}
	return image + "-" + kubernetes + "-" + release
}

// machineName is the architecture as the names of images and parameters have it.
func machineName(arch string) string {
	if arch == "amd64" {
		return "x86_64"
	}
	return arch
}
