package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// build makes the missing tools of one module, in one go build: shared
// packages are compiled once and the links run side by side.
func (m module) build(ctx context.Context, w io.Writer, missing []spec) error {
	if err := os.MkdirAll(m.cache, 0o750); err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	unlock, err := lock(ctx, w, filepath.Join(m.cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	var pkgs, names []string
	for _, s := range missing {
		// Another process may have built it while this one waited.
		if _, ok := m.cached(s); !ok {
			pkgs = append(pkgs, s.pkg)
			names = append(names, s.executable())
		}
	}
	if len(pkgs) == 0 {
		return nil
	}
	title := "building " + strings.Join(names, ", ")
	_, _ = fmt.Fprintf(w, "%s from tools/%s: once, some minutes on two cores; kept in %s\n", title, m.name, m.cache)
	// In the cache itself, so that the rename cannot cross file systems.
	dir, err := os.MkdirTemp(m.cache, "building-")
	if err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Reproducible: no path of this machine goes into the result.
	args := append([]string{"-mod=readonly", "-trimpath", "-ldflags", ldflags(m.name, m.versions), "-o", dir + string(filepath.Separator)}, pkgs...)
	if err := goBuild(ctx, w, m.dir, title, args); err != nil {
		return err
	}
	for _, s := range missing {
		built := filepath.Join(dir, s.built())
		if _, err := os.Stat(built); errors.Is(err, os.ErrNotExist) {
			continue // was in the cache already
		}
		if err := os.Rename(built, filepath.Join(m.cache, s.executable())); err != nil {
			return fmt.Errorf("tool keep: %w", err)
		}
	}
	return nil
}

// cached returns the tool's executable if an earlier build left it.
func (m module) cached(s spec) (string, bool) {
	path := filepath.Join(m.cache, s.executable())
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// BuildSelf builds one of our own programs, the package pkg (as ./daemon/cmd/karpenterd,
// relative to the top of the checkout) into the file out. It is built as `go
// test` builds it, so that each finds compiled what the other needed.
func BuildSelf(ctx context.Context, w io.Writer, pkg, out string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return fmt.Errorf("program build: %w", err)
	}
	// The go tool links again only where what it built before is out of date, so
	// that stays; the program itself is a link to it, put in place at the end, and
	// a running copy of the old one is left alone.
	unlock, err := lock(ctx, w, out+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	built := out + ".build"
	if err := goBuild(ctx, w, root, "building "+filepath.Base(out), []string{"-o", built, pkg}); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d.tmp", out, os.Getpid())
	if err := os.Link(built, tmp); err != nil {
		return fmt.Errorf("program build: %w", err)
	}
	if err := os.Rename(tmp, out); err != nil {
		return errors.Join(fmt.Errorf("program build: %w", err), os.Remove(tmp))
	}
	_ = os.Remove(tmp) // renaming a link to the same file leaves both names
	return nil
}

// Self builds one of our own programs into the user's cache and returns its
// path. Each checkout has its own copy, always built from what the checkout
// holds now (the go tool knows what that saves).
func Self(ctx context.Context, w io.Writer, pkg string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	checkout := sha256.Sum256([]byte(root))
	dir := filepath.Join(cache, "bin", hex.EncodeToString(checkout[:8]))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("program build: %w", err)
	}
	name := path.Base(pkg)
	if name == "." { // the provider, which is the module itself
		name = "terraform-provider-karpenter"
	}
	out := filepath.Join(dir, name)
	return out, BuildSelf(ctx, w, pkg, out)
}

// goBuild runs go build in dir with a live report.
func goBuild(ctx context.Context, w io.Writer, dir, title string, args []string) error {
	cmd, err := goCommand(ctx, dir, append([]string{"build", "-v", "-buildvcs=false"}, args...)...)
	if err != nil {
		return err
	}
	// The go tool's children must go with it, or they would write on into the cache.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	p := startProgress(w, title)
	cmd.Stderr = p
	err = cmd.Run()
	p.end(err)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", title, errors.Join(ctx.Err(), err), p.complaint())
	}
	return nil
}

// lock takes the file's advisory lock; the kernel gives it back when the
// process dies, however it dies.
func lock(ctx context.Context, w io.Writer, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("tool cache lock: %w", err)
	}
	start, said := time.Now(), time.Duration(0)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("tool cache lock: %w", err)
		}
		if waited := time.Since(start); waited >= said {
			_, _ = fmt.Fprintf(w, "%4.0fs  waiting for another process that builds in %s\n", waited.Seconds(), filepath.Dir(path))
			said = waited + logEvery
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("tool cache lock: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
