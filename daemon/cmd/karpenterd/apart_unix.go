//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart gives the command a process group of its own: the terminal's Ctrl-C does not reach it.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
