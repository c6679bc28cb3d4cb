//go:build !linux

package proc

import "syscall"

const supported = false

func attributes() *syscall.SysProcAttr { return nil }

// Pause answers ErrUnsupported.
func (p *Process) Pause() error { return ErrUnsupported }

// Resume answers ErrUnsupported.
func (p *Process) Resume() error { return ErrUnsupported }
