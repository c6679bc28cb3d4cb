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

// Server is another implementation of AWS's APIs, running.
type Server struct {
	URL string

	processes *proc.Set
}

// Both servers say so once they listen.
var running = regexp.MustCompile(`Running on (http://127\.0\.0\.1:[0-9]+)`)

// StartMoto starts a moto server, empty but for what moto makes of itself
// (default VPC, images, AWS's managed policies). python is what Python gave,
// dir a scratch directory of its own. Errors: ErrServer with the end of its log.
func StartMoto(ctx context.Context, python, dir string) (*Server, error) {
	return start(ctx, "moto", python, dir, []string{"moto.server", "-H", "127.0.0.1", "-p", "0"}, "MOTO_IAM_LOAD_MANAGED_POLICIES=true")
}

// StartMinistack starts a ministack server as StartMoto does moto; the account
// is that of the caller's access key.
func StartMinistack(ctx context.Context, python, dir string) (*Server, error) {
	// Without workers there is one process, which cannot outlive the stop.
	return start(ctx, "ministack", python, dir, []string{"hypercorn", "ministack.app:app", "--bind", "127.0.0.1:0", "--workers", "0"}, "MINISTACK_HOST=127.0.0.1")
}

// start runs a Python module that serves on a free port of 127.0.0.1.
func start(ctx context.Context, name, python, dir string, module []string, env ...string) (*Server, error) {
	processes, err := proc.NewSet(dir)
	if err != nil {
		return nil, fmt.Errorf("%s start: %w", name, err)
	}
	s := &Server{processes: processes}
	log := filepath.Join(dir, name+".log")
	process, err := processes.Start(proc.Spec{
		Name: name, Path: python, Args: append([]string{"-u", "-m"}, module...), Dir: dir, LogFile: log,
		Env: append(env, "HOME="+dir, "TMPDIR="+dir, "PATH="+os.Getenv("PATH"), "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none"),
	})
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("%s start: %w", name, err)
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		said, err := os.ReadFile(log)
		if found := running.FindSubmatch(said); found != nil {
			s.URL = string(found[1])
			return s, nil
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
		s.Close()
		return nil, fmt.Errorf("%s start: %w", name, err)
	}
}

// Close ends the server.
func (s *Server) Close() { s.processes.Close(2 * time.Second) }
