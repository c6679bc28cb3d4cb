package toolchain

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Tool names a program by the name of its executable.
type Tool string

// The laboratory's programs. TerraformCLI is whatever can play a
// configuration: OpenTofu where it is found, else Terraform where it is found,
// else OpenTofu, built. Tofu is OpenTofu and nothing else.
const (
	Etcd              Tool = "etcd"
	APIServer         Tool = "kube-apiserver"
	ControllerManager Tool = "kube-controller-manager"
	Scheduler         Tool = "kube-scheduler"
	Kwok              Tool = "kwok"
	Tofu              Tool = "tofu"
	TerraformCLI      Tool = "terraform-cli"
)

// What users of the guides have: tests run the guides' commands with these. JQ is gojq where
// jq is not found; the guides keep to what both do.
const (
	Kubectl Tool = "kubectl"
	JQ      Tool = "jq"
	Helm    Tool = "helm"
)

// KarpenterAWS is Karpenter's own controller for AWS: the laboratory's client
// in the peer test and nothing that the product needs. Only the release that
// tools/peer pins is ever used.
const KarpenterAWS Tool = "karpenter-aws"

// Pulumi's command line, what runs its programs in YAML, and the plugin that bridges a Terraform
// provider: they judge that the provider works with Pulumi. Only the versions that tools/pulumi
// pins are ever used, as these three must match each other.
const (
	Pulumi       Tool = "pulumi"
	PulumiYAML   Tool = "pulumi-language-yaml"
	PulumiBridge Tool = "pulumi-resource-terraform-provider"
)

// Descheduler evicts pods from nodes with taints: one test lets it run beside the daemon. Only
// the release that tools/descheduler pins is ever used.
const Descheduler Tool = "descheduler"

// Ko builds the daemon's container image.
const Ko Tool = "ko"

// The tools of a release: what makes its files, and what says whether krew takes the manifest
// of the plugin. Other versions make other files.
const (
	Goreleaser    Tool = "goreleaser"
	KrewValidator Tool = "validate-krew-manifest"
)

// The tools that check and generate source. They are never taken from PATH:
// another version formats, lints and generates differently.
const (
	GolangciLint  Tool = "golangci-lint"
	Tfplugindocs  Tool = "tfplugindocs"
	ControllerGen Tool = "controller-gen"
	Benchstat     Tool = "benchstat"
)

// Tools lists every tool that Ensure knows, sorted by name.
func Tools() []Tool {
	names := make([]Tool, 0, len(specs()))
	for name := range specs() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// spec says where a tool comes from and which found versions may stand in.
type spec struct {
	module string   // folder under tools/
	pkg    string   // main package
	source string   // Go module whose version in go.mod is the tool's version
	file   string   // executable, where it is not named as the package is
	found  []accept // executables that may stand in, best first; none: always build
}

// accept is a program that may be used when found.
type accept struct {
	name    string   // executable
	args    []string // print the version
	atLeast version
	minor   bool // major and minor must equal atLeast's: Kubernetes parts must match each other
}

func specs() map[Tool]spec {
	kube := func(name Tool) spec {
		return spec{
			module: "controlplane", pkg: "k8s.io/kubernetes/cmd/" + string(name), source: "k8s.io/kubernetes",
			found: []accept{{name: string(name), args: []string{"--version"}, atLeast: version{1, 36, 0}, minor: true}},
		}
	}
	kubectl := kube(Kubectl)
	kubectl.found[0].args = []string{"version", "--client"}
	dev := func(pkg, source string) spec {
		return spec{module: "dev", pkg: pkg, source: source}
	}
	tofu := accept{name: "tofu", args: []string{"version"}, atLeast: version{1, 12, 0}}
	terraform := accept{name: "terraform", args: []string{"version"}, atLeast: version{1, 11, 0}}
	opentofu := spec{module: "tofu", pkg: "github.com/opentofu/opentofu/cmd/tofu", source: "github.com/opentofu/opentofu"}
	either := opentofu
	opentofu.found = []accept{tofu}
	either.found = []accept{tofu, terraform}
	return map[Tool]spec{
		Etcd: {
			module: "controlplane", pkg: "go.etcd.io/etcd/server/v3", source: "go.etcd.io/etcd/server/v3", file: "etcd",
			found: []accept{{name: "etcd", args: []string{"--version"}, atLeast: version{3, 5, 0}}},
		},
		APIServer:         kube(APIServer),
		ControllerManager: kube(ControllerManager),
		Scheduler:         kube(Scheduler),
		Kubectl:           kubectl,
		JQ: {
			module: "controlplane", pkg: "github.com/itchyny/gojq/cmd/gojq", source: "github.com/itchyny/gojq", file: "jq",
			found: []accept{{name: "jq", args: []string{"--version"}, atLeast: version{1, 7, 1}}},
		},
		Helm: {
			module: "helm", pkg: "helm.sh/helm/v3/cmd/helm", source: "helm.sh/helm/v3",
			found: []accept{{name: "helm", args: []string{"version"}, atLeast: version{3, 17, 0}}},
		},
		Kwok: {
			module: "controlplane", pkg: "sigs.k8s.io/kwok/cmd/kwok", source: "sigs.k8s.io/kwok",
			found: []accept{{name: "kwok", args: []string{"--version"}, atLeast: version{0, 8, 0}}},
		},
		Tofu:         opentofu,
		TerraformCLI: either,
		KarpenterAWS: {
			module: "peer", pkg: "github.com/aws/karpenter-provider-aws/cmd/controller", source: "github.com/aws/karpenter-provider-aws", file: "karpenter-aws",
		},
		Pulumi:     {module: "pulumi", pkg: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", source: "github.com/pulumi/pulumi/pkg/v3"},
		PulumiYAML: {module: "pulumi", pkg: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml", source: "github.com/pulumi/pulumi-yaml"},
		PulumiBridge: {
			module: "pulumi", pkg: "github.com/pulumi/pulumi-terraform-bridge/v3/dynamic", source: "github.com/pulumi/pulumi-terraform-bridge/v3", file: string(PulumiBridge),
		},
		Descheduler:   {module: "descheduler", pkg: "sigs.k8s.io/descheduler/cmd/descheduler", source: "sigs.k8s.io/descheduler"},
		Ko:            {module: "image", pkg: "github.com/google/ko", source: "github.com/google/ko"},
		Goreleaser:    {module: "goreleaser", pkg: "github.com/goreleaser/goreleaser/v2", source: "github.com/goreleaser/goreleaser/v2"},
		KrewValidator: {module: "goreleaser", pkg: "sigs.k8s.io/krew/cmd/validate-krew-manifest", source: "sigs.k8s.io/krew"},
		GolangciLint:  dev("github.com/golangci/golangci-lint/v2/cmd/golangci-lint", "github.com/golangci/golangci-lint/v2"),
		Tfplugindocs:  dev("github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs", "github.com/hashicorp/terraform-plugin-docs"),
		ControllerGen: dev("sigs.k8s.io/controller-tools/cmd/controller-gen", "sigs.k8s.io/controller-tools"),
		Benchstat:     dev("golang.org/x/perf/cmd/benchstat", "golang.org/x/perf"),
	}
}

// executable is the file name that the tool has in the cache.
func (s spec) executable() string {
	if s.file != "" {
		return s.file
	}
	return s.built()
}

// built is the file name that `go build -o dir/` gives the package: a major
// version suffix is not a name.
func (s spec) built() string {
	base := path.Base(s.pkg)
	if strings.HasPrefix(base, "v") && strings.Trim(base[1:], "0123456789") == "" {
		return path.Base(path.Dir(s.pkg))
	}
	return base
}

// ldflags makes what is built say its real version. Without them the API
// server serves v0.0.0-master, on which clients decide, and OpenTofu calls
// itself a development build, which version constraints do not match.
func ldflags(module string, versions map[string]string) string {
	switch module {
	case "controlplane":
		kube, _ := parseVersion(versions["k8s.io/kubernetes"])
		const in = " -X k8s.io/component-base/version."
		return noDebugData +
			in + "gitVersion=" + versions["k8s.io/kubernetes"] +
			in + fmt.Sprintf("gitMajor=%d", kube[0]) +
			in + fmt.Sprintf("gitMinor=%d", kube[1]) +
			in + "gitTreeState=clean"
	case "helm":
		return noDebugData + " -X helm.sh/helm/v3/internal/version.version=" + versions["helm.sh/helm/v3"]
	case "tofu":
		return noDebugData + " -X github.com/opentofu/opentofu/version.dev=no"
	case "peer":
		return noDebugData + " -X sigs.k8s.io/karpenter/pkg/operator.Version=" + strings.TrimPrefix(versions["github.com/aws/karpenter-provider-aws"], "v")
	case "pulumi":
		return noDebugData +
			" -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=" + versions["github.com/pulumi/pulumi/pkg/v3"] +
			" -X github.com/pulumi/pulumi-terraform-bridge/v3/dynamic/version.version=" + versions["github.com/pulumi/pulumi-terraform-bridge/v3"]
	case "descheduler":
		return noDebugData + " -X sigs.k8s.io/descheduler/pkg/version.version=" + versions["sigs.k8s.io/descheduler"]
	case "image", "goreleaser":
		return noDebugData
	case "dev":
		// golangci-lint needs no flag: it reads the module version of the build.
		return noDebugData
	}
	return ""
}
