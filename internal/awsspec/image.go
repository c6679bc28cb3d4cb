package awsspec

import (
	"fmt"
	"regexp"
)

// publicParameterRoot is the path of the SSM parameters that AWS and publishers of images
// keep, which everybody may read; imageParameterRoot is that of EKS's images. Sources:
// Systems Manager user guide, "Discovering public parameters"; EKS user guide, "Retrieve
// recommended Amazon Linux AMI IDs".
const (
	publicParameterRoot = "/aws/service/"
	imageParameterRoot  = publicParameterRoot + "eks/optimized-ami/"
)

// Latest is the version of an alias for the image that EKS recommends.
const Latest = "latest"

// Alias names an image family and its version: Latest, or "v" and a date.
type Alias struct {
	Family, Version string
}

// ParseAlias reads al2023@latest or al2023@v20260115.
func ParseAlias(text string) (Alias, error) {
	m := regexp.MustCompile(`^(al2023)@(latest|v[0-9]+)$`).FindStringSubmatch(text)
	if m == nil {
		return Alias{}, fmt.Errorf("image alias %q: must be al2023@latest or al2023@v<release>, such as al2023@v20260115", text)
	}
	return Alias{Family: m[1], Version: m[2]}, nil
}

// Variant says which instance types an image is for.
type Variant struct {
	Arch string // Kubernetes' name: amd64 or arm64
	Kind string // VariantStandard, VariantNvidia or VariantNeuron
}

// Kinds of a Variant.
const (
	VariantStandard = "standard"
	VariantNvidia   = "nvidia"
	VariantNeuron   = "neuron"
)

// AL2023Variants lists the variants that EKS publishes, the standard variants first.
func AL2023Variants() []Variant {
	return []Variant{
		{"amd64", VariantStandard},
		{"arm64", VariantStandard},
		{"amd64", VariantNvidia},
		{"arm64", VariantNvidia},
		{"amd64", VariantNeuron},
	}
}

// AL2023Parameter is the name of the SSM parameter with the id of an image. k8sMinor is a
// version such as 1.36; version is that of an Alias.
func AL2023Parameter(k8sMinor string, v Variant, version string) string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[v.Arch]
	name := "recommended"
	if version != Latest {
		name = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", arch, v.Kind, k8sMinor, version)
	}
	return fmt.Sprintf("%s%s/amazon-linux-2023/%s/%s/%s/image_id", imageParameterRoot, k8sMinor, arch, v.Kind, name)
}
