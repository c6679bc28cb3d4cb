// Package flock owns the advisory locks that keep processes of development apart: builds of one
// tool, and runs of the tests that keep their programs in one folder.
//
// Invariants: standard library only. The kernel gives a lock back when the process dies, however
// it dies, so that no lock is left. The file stays, as another process may wait for it.
package flock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrTaken says that another process, or another part of this one, has the lock.
var ErrTaken = errors.New("lock is taken")

// Try takes the lock of the file, which it makes if there is none. It does not wait: the error is
// ErrTaken while somebody else has it.
func Try(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock open: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w: %s", ErrTaken, path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
