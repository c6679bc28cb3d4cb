package proc

import "syscall"

const supported = true

// attributes puts the child in a process group of its own, so that Ctrl-C in
// the terminal reaches the laboratory only and the order of stopping stays
// ours, and asks the kernel to kill it when the starting thread ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Pause stops the process from running until Resume; it holds its connections meanwhile.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused process run.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
