package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// orphanAge is how old a scratch directory without a state file must be to be
// taken for the remains of a crash rather than for a start in progress.
const orphanAge = time.Minute

// Sweep removes what crashed laboratories left under root: their living
// children are killed, their scratch directories removed. Directories whose
// owner still runs are left alone. It returns the directories removed.
func Sweep(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("scratch sweep: %w", err)
	}
	var removed []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		gone, err := sweepOne(dir)
		if err != nil {
			return removed, fmt.Errorf("scratch sweep: %w", err)
		}
		if gone {
			removed = append(removed, dir)
		}
	}
	return removed, nil
}

func sweepOne(dir string) (bool, error) {
	raw, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return sweepOrphan(dir)
	}
	if err != nil {
		return false, err
	}
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return false, fmt.Errorf("%s read: %w", filepath.Join(dir, stateName), err)
	}
	if st.Owner.alive() {
		return false, nil
	}
	for _, child := range st.Children {
		if err := child.kill(); err != nil {
			return false, err
		}
	}
	return true, os.RemoveAll(dir)
}

// sweepOrphan removes a directory that nobody has signed, unless another start
// or another sweep is at work there.
func sweepOrphan(dir string) (bool, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if time.Since(info.ModTime()) < orphanAge {
		return false, nil
	}
	return true, os.RemoveAll(dir)
}

// kill ends exactly this process, if it still runs.
func (i identity) kill() error {
	if !i.alive() {
		return nil
	}
	if err := syscall.Kill(i.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d kill: %w", i.PID, err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for i.alive() {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d kill: it still runs after 5s", i.PID)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
