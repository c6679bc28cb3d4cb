// Command testreport runs `go test` with the arguments it is given, -json among
// them. What follows a `--` are the arguments of another `go test`, which runs beside it, and
// what follows a `++` those of one that runs after it: what waits runs side by side, and what
// computes in turn. Arguments that begin with NAME=value have this in their environment. Where
// arguments begin with -parts=N, the tests of their package, the last of the arguments, are
// dealt to N processes of one program, which run side by side; NAME=value does not go with it.
// The report is in a form for people: a line for each package as it finishes, the
// output of failures in full, a sign of life while nothing finishes, and at
// the end the tests that took longest, what was skipped and `N passed, N failed, N skipped`.
//
// It fails when a test fails, when none ran, and when one was skipped: a
// skipped test is a promise that nobody checks. Exceptions are listed in
// allowedSkips, each with its reason.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/flock"
)

// programs is where the programs stay whose tests are dealt to several processes: the go tool
// links them again only when something has changed. It is below the folder of the run.
const programs = "bin/tests"

// allowedSkips maps the full name of a test, as package.Test, to the reason why
// it may be skipped. It is empty, and should stay so.
func allowedSkips() map[string]string { return map[string]string{} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run tells whether all tests have passed. What go test alone says is an error.
func run(ctx context.Context, args []string) (ok bool, err error) {
	r := newReport(os.Stdout, allowedSkips())
	quiet := r.showSignsOfLife(15 * time.Second)
	var all sync.WaitGroup
	runs, folder, done := apart(args, "--"), "", func() {}
	if slices.ContainsFunc(runs, func(args []string) bool { return strings.HasPrefix(args[0], "-parts=") }) {
		if folder, done, err = folderOf(programs); err != nil {
			quiet()
			return false, err
		}
	}
	defer func() { done() }()
	lanes, err := deal(ctx, folder, runs)
	if err != nil {
		quiet()
		return false, err
	}
	errs := make([]error, len(lanes))
	for i, lane := range lanes {
		part := ""
		if len(lanes) > 1 {
			part = fmt.Sprintf(" (%d)", i+1)
		}
		all.Go(func() {
			for _, c := range lane {
				errs[i] = errors.Join(errs[i], r.test(ctx, c, part))
			}
		})
	}
	all.Wait()
	quiet()
	ok = r.summary()
	for i, err := range errs {
		if !ok && shown(err) {
			errs[i] = nil
		}
	}
	return ok, errors.Join(errs...)
}

// shown says whether err is no more than what the report has shown: for that, go test exits
// with 1.
func shown(err error) bool {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !shown(err) })
	}
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// apart gives the arguments between each two of the marks.
func apart(args []string, mark string) [][]string {
	var runs [][]string
	for {
		end := slices.Index(args, mark)
		if end < 0 {
			return append(runs, args)
		}
		runs, args = append(runs, args[:end]), args[end+1:]
	}
}

// command is a program that prints test events.
type command struct {
	dir  string   // where it runs; empty: here
	env  []string // beside what this process has, as NAME=value
	args []string
}

// commandOf is a go test. What its arguments begin with may be its environment.
func commandOf(args []string) command {
	var c command
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		c.env, args = append(c.env, args[0]), args[1:]
	}
	c.args = append([]string{"go", "test"}, args...)
	return c
}

// folderOf returns the folder for the programs of this run, which nobody else uses until done:
// the one that is named or, while another run has that, one of its own.
func folderOf(programs string) (folder string, done func(), err error) {
	if err := os.MkdirAll(programs, 0o750); err != nil {
		return "", nil, fmt.Errorf("tests build: %w", err)
	}
	unlock, err := flock.Try(filepath.Join(programs, "lock"))
	if err == nil {
		return programs, unlock, nil
	}
	if !errors.Is(err, flock.ErrTaken) {
		return "", nil, fmt.Errorf("tests build: %w", err)
	}
	if folder, err = os.MkdirTemp("", "tests"); err != nil {
		return "", nil, fmt.Errorf("tests build: %w", err)
	}
	return folder, func() { _ = os.RemoveAll(folder) }, nil
}

// deal makes a lane of each run, and of one that begins with -parts=N that many, each with
// its part of the tests. Their programs are built in the folder, and stay there.
func deal(ctx context.Context, programs string, runs [][]string) ([][]command, error) {
	var lanes [][]command
	for i, args := range runs {
		number, asked := strings.CutPrefix(args[0], "-parts=")
		if !asked {
			var lane []command
			for _, args := range apart(args, "++") {
				lane = append(lane, commandOf(args))
			}
			lanes = append(lanes, lane)
			continue
		}
		parts, err := strconv.Atoi(number)
		if err != nil || parts < 1 {
			return nil, fmt.Errorf("-parts=%s: want a number of at least 1", number)
		}
		path, err := filepath.Abs(filepath.Join(programs, strconv.Itoa(i)))
		if err != nil {
			return nil, fmt.Errorf("tests build: %w", err)
		}
		whole, err := build(ctx, path, args[1:])
		if err != nil {
			return nil, err
		}
		names, err := whole.tests(ctx)
		if err != nil {
			return nil, err
		}
		for _, names := range hands(names, parts) {
			lanes = append(lanes, []command{whole.part(names)})
		}
	}
	return lanes, nil
}

// hands deals the names in turn, so that tests of one file, which are often alike, are apart.
func hands(names []string, n int) [][]string {
	n = max(1, min(n, len(names)))
	all := make([][]string, n)
	for i, name := range names {
		all[i%n] = append(all[i%n], name)
	}
	return all
}

// test runs one `go test`, or part of one. The part follows the names of packages in the report.
// An interrupt is for all processes of the command: what converts the output does not hand it on.
func (r *report) test(ctx context.Context, c command, part string) error {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 30 * time.Second // tests stop what they started
	cmd.Dir, cmd.Stderr = c.dir, os.Stderr
	cmd.Env = append(os.Environ(), c.env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("test run: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("test run: %w", err)
	}
	readErr := r.read(stdout, part)
	if err := cmd.Wait(); err != nil && readErr == nil {
		return fmt.Errorf("test run: %w", err)
	}
	return readErr
}
