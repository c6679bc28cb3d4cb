package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// Moto is a running moto server.
type Moto struct {
	URL string

	processes *proc.Set
}

var motoRunning = regexp.MustCompile(`Running on (http://127\.0\.0\.1:[0-9]+)`)

// StartMoto starts a moto server on a free port of 127.0.0.1, empty but for
// what moto makes of itself (default VPC, images, AWS's managed policies). dir
// is its scratch directory; python is what Python gave. Errors: ErrServer with
// the end of its log.
func StartMoto(ctx context.Context, python, dir string) (*Moto, error) {
	processes, err := proc.NewSet(dir)
	if err != nil {
		return nil, fmt.Errorf("moto start: %w", err)
	}
	m := &Moto{processes: processes}
	log := filepath.Join(dir, "moto.log")
	process, err := processes.Start(proc.Spec{
		Name: "moto", Path: python, Args: []string{"-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"}, Dir: dir, LogFile: log,
		Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "MOTO_IAM_LOAD_MANAGED_POLICIES=true", "AWS_ACCESS_KEY_ID=moto", "AWS_SECRET_ACCESS_KEY=moto"},
	})
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("moto start: %w", err)
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		said, err := os.ReadFile(log)
		if found := motoRunning.FindSubmatch(said); found != nil {
			m.URL = string(found[1])
			return m, nil
		}
		if err == nil {
			select {
			case <-process.Done():
				err = fmt.Errorf("%w: it ended:\n%s", ErrServer, tail(string(said)))
			case <-deadline.C:
				err = fmt.Errorf("%w within a minute:\n%s", ErrServer, tail(string(said)))
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(20 * time.Millisecond):
				continue
			}
		}
		m.Close()
		return nil, fmt.Errorf("moto start: %w", err)
	}
}

// Close ends the server.
func (m *Moto) Close() { m.processes.Close(2 * time.Second) }
