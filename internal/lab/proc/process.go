package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Spec is one process to start.
type Spec struct {
	Name    string   // shown in messages and in the state file
	Path    string   // binary
	Args    []string // without the binary's name
	Env     []string // the whole environment; nothing is inherited
	Dir     string   // working directory; the laboratory's own where empty
	LogFile string   // appended to, standard output and error alike; where empty, Streams count
	Streams Streams
}

// Streams are a process's standard streams; what is nil is /dev/null. The
// process gets copies: the caller closes its own.
type Streams struct{ In, Out, Err *os.File }

// Process is a started child. It is reaped as soon as it ends.
type Process struct {
	Name    string
	PID     int
	Started time.Time

	cmd  *exec.Cmd
	done chan struct{}
}

// Done is closed when the process has ended and its streams are flushed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode is the exit status, 128+n after signal n as shells and the
// container runtimes count; only meaningful after Done.
func (p *Process) ExitCode() int {
	state := p.cmd.ProcessState
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Stop sends SIGTERM, and SIGKILL after grace; it returns once the process is
// gone. A process that has already ended is no error.
func (p *Process) Stop(grace time.Duration) {
	if !p.Running() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it just ended: Done tells
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	p.Kill()
}

// Kill sends SIGKILL and returns once the process is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error means that it just ended: Done tells
	<-p.done
}

// give has the command use the streams. A nil file in an interface would not
// be nil there.
func (s Streams) give(cmd *exec.Cmd) {
	if s.In != nil {
		cmd.Stdin = s.In
	}
	if s.Out != nil {
		cmd.Stdout = s.Out
	}
	if s.Err != nil {
		cmd.Stderr = s.Err
	}
}

// launch starts the process; it must run on the set's own thread.
func launch(spec Spec) (*Process, error) {
	streams := spec.Streams
	if spec.LogFile != "" {
		log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s log: %w", spec.Name, err)
		}
		defer log.Close() // the child has its own copy
		streams = Streams{Out: log, Err: log}
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = spec.Env
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would inherit
	}
	cmd.Dir = spec.Dir
	streams.give(cmd)
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s start: %w", spec.Name, err)
	}
	return &Process{Name: spec.Name, PID: cmd.Process.Pid, Started: time.Now(), cmd: cmd, done: make(chan struct{})}, nil
}
