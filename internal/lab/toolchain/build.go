package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/flock"
)

// build makes the missing tools of one module, in one go build: shared
// packages are compiled once and the links run side by side.
func (m module) build(ctx context.Context, p *progress, jobs int, missing []spec) error {
	if err := os.MkdirAll(m.cache, 0o750); err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	unlock, err := lock(ctx, p, filepath.Join(m.cache, "lock"))
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
	_, _ = fmt.Fprintf(p, "%s from tools/%s: once, some minutes on two cores; kept in %s\n", title, m.name, m.cache)
	// In the cache itself, so that the rename cannot cross file systems.
	dir, err := os.MkdirTemp(m.cache, "building-")
	if err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Reproducible: no path of this machine goes into the result.
	flags := append([]string{"-mod=readonly", "-trimpath", "-ldflags"}, m.flags()...)
	b := goBuild{dir: m.dir, env: m.env, title: title, flags: flags, out: dir, pkgs: pkgs, jobs: jobs}
	if err := b.run(ctx, p); err != nil {
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
	return kept(m.cache, s)
}

func kept(dir string, s spec) (string, bool) {
	path := filepath.Join(dir, s.executable())
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// ownName is the file name of one of our own programs, as go build gives it.
func ownName(pkg string) string {
	if name := path.Base(pkg); name != "." {
		return name
	}
	return path.Base(rootModule) // the provider, which is the module itself
}

// ownPaths says where our own programs belong: in the user's cache, in a folder
// of this checkout.
func ownPaths(root string, pkgs []string) (map[string]string, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	checkout := sha256.Sum256([]byte(root))
	dir := filepath.Join(cache, "bin", hex.EncodeToString(checkout[:8]))
	if racing() {
		dir = filepath.Join(dir, "race")
	}
	paths := map[string]string{}
	for _, pkg := range pkgs {
		paths[pkg] = filepath.Join(dir, ownName(pkg))
	}
	return paths, nil
}

// raceVariable is the environment variable that has our own programs built with the race
// detector.
const raceVariable = "LAB_RACE"

func racing() bool { return os.Getenv(raceVariable) != "" }

// buildOwn builds our own programs, in one go build as they share most packages.
// They are always built from what the checkout holds now: the go tool knows what that
// saves. They are compiled as `go test` and `go build` compile, so that each finds
// compiled what the other needed: all flags here are the linker's. Flags of the
// compiler would spare a fifth of the first build, and the first `make test`
// would compile all of it again.
func buildOwn(ctx context.Context, p *progress, jobs int, root, linkerFlags string, paths map[string]string) error {
	pkgs := slices.Sorted(maps.Keys(paths))
	dir := filepath.Dir(paths[pkgs[0]])
	// The go tool links again only where what it built before is out of date, so
	// that stays in a folder of its own; the program itself is a link to it, put in
	// place at the end, and a running copy of the old one is left alone.
	built := filepath.Join(dir, "build")
	if err := os.MkdirAll(built, 0o750); err != nil {
		return fmt.Errorf("program build: %w", err)
	}
	var names, locks []string
	for _, pkg := range pkgs {
		names = append(names, ownName(pkg))
		locks = append(locks, paths[pkg]+".lock")
	}
	unlock, err := lockAll(ctx, p, locks)
	if err != nil {
		return err
	}
	defer unlock()
	b := goBuild{dir: root, title: "building " + strings.Join(names, ", "), flags: []string{"-ldflags", linkerFlags}, out: built, pkgs: pkgs, jobs: jobs}
	if racing() {
		b.flags = append(b.flags, "-race")
	}
	if err := b.run(ctx, p); err != nil {
		return err
	}
	for _, pkg := range pkgs {
		if err := put(filepath.Join(built, ownName(pkg)), paths[pkg]); err != nil {
			return err
		}
	}
	return nil
}

// put makes out a link to built, at once.
func put(built, out string) error {
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

// goBuild is one run of go build.
type goBuild struct {
	dir, title string
	env        []string // beside the environment
	flags      []string
	out        string // folder for the executables
	pkgs       []string
	jobs       int // go builds that run side by side, at most
}

// countAfter is how long a build runs before it is asked how much there is to do:
// most builds have nothing to do and end sooner.
const countAfter = 4 * time.Second

// run runs go build with a live report.
func (b goBuild) run(ctx context.Context, p *progress) error {
	args := append([]string{"build", "-v", "-buildvcs=false", "-p", fmt.Sprint(compilers(runtime.NumCPU(), b.jobs)), "-o", b.out + string(filepath.Separator)}, b.flags...)
	cmd, err := b.command(ctx, append(args, b.pkgs...))
	if err != nil {
		return err
	}
	report := p.part()
	cmd.Stderr = report
	counting, ended := context.WithCancel(ctx)
	var counted sync.WaitGroup
	counted.Go(func() {
		select {
		case <-counting.Done():
		case <-time.After(countAfter):
			b.count(counting, report)
		}
	})
	err = cmd.Run()
	ended()
	counted.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", b.title, errors.Join(ctx.Err(), err), report.complaint())
	}
	return nil
}

// count tells the report how many packages are still to be compiled. A build goes on
// without that if it cannot be found out.
func (b goBuild) count(ctx context.Context, report *part) {
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, b.flags...)
	cmd, err := b.command(ctx, append(args, b.pkgs...))
	if err != nil {
		return
	}
	if out, err := cmd.Output(); err == nil {
		report.expect(len(strings.Fields(string(out))))
	}
}

func (b goBuild) command(ctx context.Context, args []string) (*exec.Cmd, error) {
	cmd, err := goCommand(ctx, b.dir, b.env, args...)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, compilerEnv(runtime.NumCPU(), b.jobs)...)
	// The go tool's children must go with it, or they would write on into the cache.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// lockAll takes the locks in their order, which must be the same for everybody: then
// nobody waits for somebody who waits.
func lockAll(ctx context.Context, w io.Writer, paths []string) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, one := range held {
			one()
		}
	}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		one, err := lock(ctx, w, path)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, one)
	}
	return unlock, nil
}

// LockCache waits until no other process has the lock of the name in the cache, and says so.
// Whoever compiles much holds one: two go builds at once compile all packages twice.
func LockCache(ctx context.Context, w io.Writer, name string) (unlock func(), err error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return nil, fmt.Errorf("tool cache make: %w", err)
	}
	return lock(ctx, w, filepath.Join(cache, name+".lock"))
}

// lock waits for the lock of the file, and says so.
func lock(ctx context.Context, w io.Writer, path string) (unlock func(), err error) {
	start, said := time.Now(), time.Duration(0)
	for {
		unlock, err := flock.Try(path)
		if err == nil {
			return unlock, nil
		}
		if !errors.Is(err, flock.ErrTaken) {
			return nil, fmt.Errorf("tool cache: %w", err)
		}
		if waited := time.Since(start); waited >= said {
			_, _ = fmt.Fprintf(w, "%4.0fs  waiting for another process that builds in %s\n", waited.Seconds(), filepath.Dir(path))
			said = waited + logEvery
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("tool cache lock: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
