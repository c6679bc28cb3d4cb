// Package quickstart prepares a working copy of examples/quickstart for a
// laboratory: the configuration, the provider that was built here where
// OpenTofu and Terraform look for it, and the environment that fills in the
// variables. The copy is independent of the checkout; nothing is downloaded.
package quickstart

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// providerVersion is what the provider built here passes for.
const providerVersion = "0.0.1"

// Prepare makes the copy in dir, which must not exist yet. provider is the
// path of the built provider. The environment that it returns comes on top of
// the process's own and makes whoever runs OpenTofu there the deployer.
func Prepare(l *lab.Lab, dir, provider string) (env []string, err error) {
	root, err := toolchain.Root()
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "quickstart"))); err != nil {
		return nil, fmt.Errorf("quickstart copy: %w", err)
	}
	mirror := filepath.Join(dir, ".mirror")
	// Each command line has a default registry of its own, and looks here for both.
	for _, host := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		folder := filepath.Join(mirror, host, "karpenterd", "karpenter", providerVersion, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return nil, fmt.Errorf("provider mirror make: %w", err)
		}
		if err := os.Symlink(provider, filepath.Join(folder, "terraform-provider-karpenter_v"+providerVersion)); err != nil {
			return nil, fmt.Errorf("provider mirror make: %w", err)
		}
	}
	settings := filepath.Join(dir, ".tofurc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("cli configuration write: %w", err)
	}
	return append(l.Env(),
		"TF_CLI_CONFIG_FILE="+settings,
		"CHECKPOINT_DISABLE=1",
		"TF_VAR_cluster_name="+l.ClusterName,
		"TF_VAR_region="+l.Region,
		// The provider that was built here belongs to no release, so it names no image. The
		// kubelets of the laboratory have this one, whatever its tag.
		fmt.Sprintf("TF_VAR_image={tag=%q}", providerVersion),
	), nil
}
