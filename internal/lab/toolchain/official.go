package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/fetch"
)

// official is a release of programs as their project publishes it.
type official struct {
	version string // as 1.36.0
	// address of the file and its path in it, for a platform. {version}, {os} and {arch}
	// stand for what they say.
	address string
	// programs are the tools in it, with their paths; one that is not an archive has an
	// empty path.
	programs map[Tool]string
	// sums by platform, as linux/amd64: what its project has published, and nothing else.
	// For other platforms the tools are built.
	sums map[string]string
}

// officials are the releases that stand in for a build of the tools. A release need not
// be the version that go.mod names, but must be one that is accepted where it is found.
// Another version needs other sums, from the project: for Kubernetes they are in its
// CHANGELOG, for the others beside the files of the release.
func officials() []official {
	const inServer = "kubernetes/server/bin/"
	const inEtcd = "etcd-v{version}-{os}-{arch}/"
	return []official{
		{
			version:  "1.36.0",
			address:  "https://dl.k8s.io/v{version}/kubernetes-server-{os}-{arch}.tar.gz",
			programs: map[Tool]string{APIServer: inServer + "kube-apiserver", ControllerManager: inServer + "kube-controller-manager", Scheduler: inServer + "kube-scheduler", Kubectl: inServer + "kubectl"},
			sums: map[string]string{
				"linux/amd64": "sha512:1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dce81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25",
				"linux/arm64": "sha512:7f95e451baedd9368a2fa637afa84c9ed1b958736540ca27a379e5e292e1a10c5d9a29539f833047574bf5d3b6f907f32dee5735acecc11aa4686f078108dcf8",
			},
		},
		{
			version:  "3.6.10",
			address:  "https://github.com/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
			programs: map[Tool]string{Etcd: inEtcd + "etcd"},
			sums: map[string]string{
				"linux/amd64": "sha256:ed579fafab5701e3aaa95509969e7bc74776a4ae5269d32e3928408b406456ec",
				"linux/arm64": "sha256:e40dc34b7a512b99c651f7700c1014e9b76e02415e2e24365b248966b173524c",
			},
		},
		{
			version:  "0.8.0",
			address:  "https://github.com/kubernetes-sigs/kwok/releases/download/v{version}/kwok-{os}-{arch}",
			programs: map[Tool]string{Kwok: ""},
			sums: map[string]string{
				"linux/amd64": "sha256:f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46",
				"linux/arm64": "sha256:628f7d277860f524a2a775c217adcc58828e7b59ab0933680315784f1b8b0e37",
			},
		},
		{
			version:  "1.12.6",
			address:  "https://github.com/opentofu/opentofu/releases/download/v{version}/tofu_{version}_{os}_{arch}.tar.gz",
			programs: map[Tool]string{Tofu: "tofu", TerraformCLI: "tofu"},
			sums: map[string]string{
				"linux/amd64":  "sha256:50a6106fa4de523d09c87af85f3db1dd47535fc005727fdca6852146476b88ec",
				"linux/arm64":  "sha256:9bd0228a81bcd0c88f7045c74378f45a815779f19897191dff7d9efba9976b9e",
				"darwin/amd64": "sha256:44bb1855f372f17f365fb94517906e78da5001da10f4c98de57a39bf982f3a92",
				"darwin/arm64": "sha256:f958ec5e511063be9feb180ca015a4cb7977566a9cf6a8550bba8c2a9b5aba74",
			},
		},
	}
}

// platform is what this machine is, as linux/amd64.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// officialOf returns the release that has the tool for a platform.
func officialOf(releases []official, t Tool, platform string) (official, bool) {
	for _, o := range releases {
		if _, ok := o.programs[t]; ok && o.sums[platform] != "" {
			return o, true
		}
	}
	return official{}, false
}

// file is what is to be downloaded for a platform, from the project itself or from a
// mirror, which has the projects' hosts as folders.
func (o official) file(platform, mirror string) fetch.File {
	system, arch, _ := strings.Cut(platform, "/")
	fill := strings.NewReplacer("{version}", o.version, "{os}", system, "{arch}", arch).Replace
	f := fetch.File{URL: fill(o.address), Sum: o.sums[platform], Programs: map[string]string{}}
	if mirror != "" {
		f.URL = strings.TrimSuffix(mirror, "/") + "/" + strings.TrimPrefix(f.URL, "https://")
	}
	for t, inside := range o.programs {
		f.Programs[fill(inside)] = specs()[t].executable()
	}
	return f
}

// name says in a report what is downloaded.
func (o official) name(platform string) string {
	address := o.file(platform, "").URL
	return address[strings.LastIndex(address, "/")+1:]
}

// folder is where the release is kept: what is there has had the right sum.
func (o official) folder(cache, platform string) string {
	key := sha256.Sum256([]byte(o.file(platform, "").URL + "\n" + o.sums[platform]))
	return filepath.Join(cache, "tools", "official-"+hex.EncodeToString(key[:8]))
}
