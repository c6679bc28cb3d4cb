// Command testreport runs `go test` with the arguments it is given, -json among
// them. What follows a `--` are the arguments of another `go test`, which runs beside it, and
// what follows a `++` those of one that runs after it: what waits runs side by side, and what
// computes in turn. Where arguments begin with -parts=N, the tests of their package are dealt
// to N processes, which run side by side.
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

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
func run(ctx context.Context, args []string) (bool, error) {
	r := newReport(os.Stdout, allowedSkips())
	quiet := r.showSignsOfLife(15 * time.Second)
	var all sync.WaitGroup
	lanes, err := deal(ctx, apart(args, "--"))
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
			for _, args := range apart(lane, "++") {
				errs[i] = errors.Join(errs[i], r.test(ctx, args, part))
			}
		})
	}
	all.Wait()
	quiet()
	ok := r.summary()
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

// deal puts in place of each run that begins with -parts=N that many runs, each with its
// part of the tests.
func deal(ctx context.Context, runs [][]string) ([][]string, error) {
	var dealt [][]string
	for _, args := range runs {
		number, asked := strings.CutPrefix(args[0], "-parts=")
		if !asked {
			dealt = append(dealt, args)
			continue
		}
		parts, err := strconv.Atoi(number)
		if err != nil || parts < 1 {
			return nil, fmt.Errorf("-parts=%s: want a number of at least 1", number)
		}
		names, err := testsOf(ctx, args[1:])
		if err != nil {
			return nil, err
		}
		for _, part := range hands(names, parts) {
			dealt = append(dealt, append([]string{"-run", "^(" + strings.Join(part, "|") + ")$"}, args[1:]...))
		}
	}
	return dealt, nil
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

// testsOf lists the tests of a run. It also compiles them, once for all parts.
func testsOf(ctx context.Context, args []string) ([]string, error) {
	list := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-json" })
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-list", "."}, list...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tests list: %w\n%s", err, out)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("tests list: %v has no test", args)
	}
	return names, nil
}

// test runs `go test` once. The part follows the names of packages in the report.
func (r *report) test(ctx context.Context, args []string, part string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second // tests stop what they started
	cmd.Stderr = os.Stderr
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
