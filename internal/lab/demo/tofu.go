package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/quickstart"
)

// tofu runs OpenTofu, or Terraform where only that was found, on a copy of the
// quickstart with the provider that was built here.
type tofu struct {
	path, dir string
	env       []string
}

func newTofu(l *lab.Lab, path, provider, dir string) (*tofu, error) {
	env, err := quickstart.Prepare(l, dir, provider)
	if err != nil {
		return nil, err
	}
	return &tofu{path: path, dir: dir, env: append(append(os.Environ(), env...), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_VAR_consolidate_after="+consolidateAfter)}, nil
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
	if slices.Contains(allowed, code) {
		return code, took, nil
	}
	return code, took, fmt.Errorf("%s %s: exit %d\n%s", filepath.Base(t.path), strings.Join(args, " "), code, out.String())
}
