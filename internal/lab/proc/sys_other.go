//go:build !linux

package proc

import "syscall"

const supported = false

func attributes() *syscall.SysProcAttr { return nil }
