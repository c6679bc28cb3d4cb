package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// providerVersion is the one that the provider built here is installed as.
const providerVersion = "0.0.1"

// tofu runs OpenTofu, or Terraform where only that was found, on a copy of the
// quickstart with the provider that was built here.
type tofu struct {
	path, dir string
	env       []string
}

func newTofu(path, provider, dir string, env []string) (*tofu, error) {
	root, err := toolchain.Root()
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "quickstart"))); err != nil {
		return nil, fmt.Errorf("quickstart copy: %w", err)
	}
	mirror := filepath.Join(dir, ".mirror")
	for _, host := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		folder := filepath.Join(mirror, host, "karpenterd", "karpenter", providerVersion, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return nil, fmt.Errorf("provider mirror make: %w", err)
		}
		if err := os.Symlink(provider, filepath.Join(folder, "terraform-provider-karpenter_v"+providerVersion)); err != nil {
			return nil, fmt.Errorf("provider mirror make: %w", err)
		}
	}
	rc := filepath.Join(dir, ".tofurc")
	config := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	if err := os.WriteFile(rc, []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("cli configuration write: %w", err)
	}
	own := []string{"TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0"}
	return &tofu{path: path, dir: dir, env: append(append(os.Environ(), env...), own...)}, nil
}

// run runs a command and returns what it printed, how long it took and its
// exit code. Codes other than those allowed are errors with the output.
func (t *tofu) run(ctx context.Context, allowed []int, args ...string) (code int, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir, cmd.Env = t.dir, t.env
	// An interrupt lets it write its state before it ends.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err = cmd.Run()
	took = time.Since(began)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if err != nil {
		return code, took, fmt.Errorf("%s %s: %w", filepath.Base(t.path), args[0], err)
	}
	for _, a := range allowed {
		if code == a {
			return code, took, nil
		}
	}
	return code, took, fmt.Errorf("%s %s: exit %d\n%s", filepath.Base(t.path), strings.Join(args, " "), code, out.String())
}
