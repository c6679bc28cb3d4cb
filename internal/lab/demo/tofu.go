package demo

import (
	"context"
	_ "embed" // services.tf
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/quickstart"
)

// stopGrace is how long the command line has to write its state and end.
const stopGrace = 20 * time.Second

//go:embed services.tf
var servicesTF []byte

// tofu runs OpenTofu, or Terraform where only that was found, on a copy of the
// quickstart, with a node pool for services, and with the provider that was built here. It is a process of the
// laboratory: it ends with it, whatever happens.
type tofu struct {
	lab       *lab.Lab
	path, dir string
	env       []string
	runs      int
}

func newTofu(l *lab.Lab, path, provider string) (*tofu, error) {
	dir := filepath.Join(l.Dir, "quickstart")
	env, err := quickstart.Prepare(l, dir, provider)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "services.tf"), servicesTF, 0o600); err != nil {
		return nil, fmt.Errorf("services.tf write: %w", err)
	}
	env = append(append(os.Environ(), env...), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_VAR_consolidate_after="+consolidateAfter.String())
	return &tofu{lab: l, path: path, dir: dir, env: env}, nil
}

// run runs a command and returns its exit code and how long it took. Codes
// other than those allowed are errors with what the command printed.
func (t *tofu) run(ctx context.Context, allowed []int, args ...string) (code int, took time.Duration, err error) {
	t.runs++
	log := filepath.Join(t.lab.Dir, fmt.Sprintf("tofu-%d.log", t.runs))
	began := time.Now()
	process, err := t.lab.Processes.Start(proc.Spec{Name: filepath.Base(t.path) + " " + args[0], Path: t.path, Args: args, Env: t.env, Dir: t.dir, LogFile: log})
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Stop(stopGrace)
		return 0, 0, fmt.Errorf("%s %s: %w", filepath.Base(t.path), args[0], ctx.Err())
	}
	code, took = process.ExitCode(), time.Since(began)
	if slices.Contains(allowed, code) {
		return code, took, nil
	}
	printed, _ := os.ReadFile(log) // what there is of it
	return code, took, fmt.Errorf("%s %s: exit %d\n%s", filepath.Base(t.path), strings.Join(args, " "), code, printed)
}
