// Command testreport runs `go test` with the arguments it is given, -json among
// them, and reports in a form for people: a line for each package as it finishes, the
// output of failures in full, a sign of life while nothing finishes, and at
// the end what was skipped and `N passed, N failed, N skipped`.
//
// It fails when a test fails, when none ran, and when one was skipped: a
// skipped test is a promise that nobody checks. Exceptions are listed in
// allowedSkips, each with its reason.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
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

func run(ctx context.Context, args []string) (bool, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second // tests stop what they started
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("test run: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("test run: %w", err)
	}
	r := newReport(os.Stdout, allowedSkips())
	quiet := r.showSignsOfLife(15 * time.Second)
	readErr := r.read(stdout)
	quiet()
	runErr := cmd.Wait()
	ok := r.summary()
	if readErr != nil {
		return false, readErr
	}
	// go test exits with 1 for what the report has shown; anything else is news.
	if runErr != nil && (ok || cmd.ProcessState.ExitCode() != 1) {
		return false, fmt.Errorf("test run: %w", runErr)
	}
	return ok, nil
}
