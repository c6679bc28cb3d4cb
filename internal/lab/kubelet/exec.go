package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// exec runs a command beside a container's process.
func (s *server) exec(w http.ResponseWriter, r *http.Request) {
	p, ok := s.pod(w, r)
	if !ok {
		return
	}
	c, life, ok := p.runningContainer(r.PathValue("container"))
	if !ok {
		http.Error(w, fmt.Sprintf("container not found (%q)", r.PathValue("container")), http.StatusNotFound)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stop := closeAfter(life, r, lastWords)
	defer stop()
	e := &execution{container: c, life: life}
	remotecommand.ServeExec(w, r, e, p.object.Name, string(p.object.UID), c.spec.Name, r.Form["command"], options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	e.input.Wait()
}

// runningContainer is a container whose process runs now, with the life of that
// process.
func (p *pod) runningContainer(name string) (*container, context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.containers {
		if life, ok := c.running(); ok && c.spec.Name == name {
			return c, life, true
		}
	}
	return nil, nil, false
}

// execution is one kubectl exec.
type execution struct {
	container *container
	life      context.Context // of the container's process
	input     sync.WaitGroup  // from the client; it ends with the connection
	output    sync.WaitGroup
}

// ExecInContainer starts the program of the container's image with what the
// container has around it, and returns when the process has ended. The process
// ends with the container's, and with the client's connection: ctx.
func (e *execution) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser,
	tty bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	spec, err := e.container.command(command)
	if err != nil {
		return fmt.Errorf("failed to exec in container: %w", err)
	}
	if tty {
		return fmt.Errorf("failed to exec in container: a terminal: %w", errUnsupported)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.life, cancel)
	defer stop()
	process, err := e.start(ctx, spec, in, out, errs)
	if err != nil {
		return fmt.Errorf("failed to exec in container: %w", err)
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Kill()
	}
	e.output.Wait()
	if code := process.ExitCode(); code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return nil
}

// start starts the process with pipes for the streams that the client has.
func (e *execution) start(ctx context.Context, spec proc.Spec, in io.Reader, out, errs io.Writer) (_ *proc.Process, err error) {
	defer func() { // the process has copies of its own; to close nil does nothing
		_ = errors.Join(spec.Streams.In.Close(), spec.Streams.Out.Close(), spec.Streams.Err.Close())
	}()
	if in != nil {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		spec.Streams.In = read
		move(ctx, &e.input, write, write, in)
	}
	for _, stream := range []struct {
		end *(*os.File)
		to  io.Writer
	}{{&spec.Streams.Out, out}, {&spec.Streams.Err, errs}} {
		if stream.to == nil {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		*stream.end = write
		move(ctx, &e.output, read, stream.to, read)
	}
	return e.container.pod.kubelet.options.Processes.Start(spec)
}

// move copies to or from a pipe until it has no other end, or ctx ends.
func move(ctx context.Context, under *sync.WaitGroup, pipe *os.File, to io.Writer, from io.Reader) {
	stop := context.AfterFunc(ctx, func() { _ = pipe.Close() })
	under.Go(func() {
		defer pipe.Close()
		defer stop()
		_, _ = io.Copy(to, from) // either side may go first
	})
}

// command is a process like the container's with another command. Of the files
// of an image there is only the program.
func (c *container) command(words []string) (proc.Spec, error) {
	spec := c.process
	if len(words) == 0 {
		return spec, fmt.Errorf("no command: %w", errUnsupported)
	}
	if words[0] != filepath.Base(spec.Path) {
		return spec, &exec.Error{Name: words[0], Err: exec.ErrNotFound}
	}
	paths := c.pod.paths(c.spec)
	spec.Name, spec.LogFile, spec.Args = spec.Name+" exec", "", nil
	for _, word := range words[1:] {
		spec.Args = append(spec.Args, paths.Replace(word))
	}
	return spec, nil
}
