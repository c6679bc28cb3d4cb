// Command testreport runs `go test` with the arguments it is given, -json among
// them. What follows a `--` are the arguments of another `go test`, which runs beside it.
// The report is in a form for people: a line for each package as it finishes, the
// output of failures in full, a sign of life while nothing finishes, and at
// the end what was skipped and `N passed, N failed, N skipped`.
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
	runs := apart(args)
	errs := make([]error, len(runs))
	for i, args := range runs {
		part := ""
		if len(runs) > 1 {
			part = fmt.Sprintf(" (%d)", i+1)
		}
		all.Go(func() { errs[i] = r.test(ctx, args, part) })
	}
	all.Wait()
	quiet()
	ok := r.summary()
	for i, err := range errs {
		// go test exits with 1 for what the report has shown; anything else is news.
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 && !ok {
			errs[i] = nil
		}
	}
	return ok, errors.Join(errs...)
}

// apart gives the arguments between each two `--`.
func apart(args []string) [][]string {
	var runs [][]string
	for {
		end := slices.Index(args, "--")
		if end < 0 {
			return append(runs, args)
		}
		runs, args = append(runs, args[:end]), args[end+1:]
	}
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
