package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// scratch sweeps what crashed laboratories left and makes a directory for this
// one. root is where laboratories keep theirs.
func scratch(dir string) (root, own string, swept []string, err error) {
	root = dir
	if root == "" {
		root = filepath.Join(os.TempDir(), "karpenterd-lab-"+strconv.Itoa(os.Getuid()))
	}
	swept, err = proc.Sweep(root)
	if err != nil {
		return "", "", nil, err
	}
	for {
		if err := os.MkdirAll(root, 0o700); err != nil {
			return "", "", nil, fmt.Errorf("scratch directory create: %w", err)
		}
		if err := trust(root); err != nil {
			return "", "", nil, err
		}
		own, err = os.MkdirTemp(root, "run-")
		if errors.Is(err, fs.ErrNotExist) {
			continue // a laboratory that closed just now took the root with it
		}
		if err != nil {
			return "", "", nil, fmt.Errorf("scratch directory create: %w", err)
		}
		return root, own, swept, nil
	}
}

// trust refuses a directory that another user has put at the well-known place:
// keys and the administrator's token go there.
func trust(root string) error {
	info, err := os.Lstat(root)
	if err != nil {
		return fmt.Errorf("scratch directory check: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || (ok && int(stat.Uid) != os.Getuid()) {
		return fmt.Errorf("scratch directory check: %w: %s: remove it or name another one", ErrScratch, root)
	}
	return nil
}
