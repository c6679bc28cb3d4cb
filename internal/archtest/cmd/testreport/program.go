package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// program has the tests of a package. Its parts share it: each go test would link one of its
// own, which takes the linker longer than many a test.
type program struct {
	path, pkg, dir string
	converter      string // of what it prints to test events
	timeout        string // as of go test; empty: none
}

// build makes the program of the package that is the last of the arguments of a go test.
func build(ctx context.Context, path string, args []string) (program, error) {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-json" })
	p := program{path: path}
	if i := slices.Index(args, "-timeout"); i >= 0 && i+1 < len(args) {
		p.timeout = args[i+1]
	}
	if _, err := output(ctx, "", append([]string{"go", "test", "-c", "-o", path}, args...)); err != nil {
		return p, fmt.Errorf("tests build: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return p, fmt.Errorf("tests build: %v has no test: %w", args, err)
	}
	found, err := output(ctx, "", []string{"go", "list", "-f", "{{.ImportPath}}\n{{.Dir}}", args[len(args)-1]})
	if err != nil {
		return p, fmt.Errorf("tests build: %w", err)
	}
	p.pkg, p.dir, _ = strings.Cut(strings.TrimSpace(found), "\n")
	if found, err = output(ctx, "", []string{"go", "tool", "-n", "test2json"}); err != nil {
		return p, fmt.Errorf("tests build: %w", err)
	}
	p.converter = strings.TrimSpace(found)
	return p, nil
}

// tests lists the tests of the program.
func (p program) tests(ctx context.Context) ([]string, error) {
	out, err := output(ctx, p.dir, []string{p.path, "-test.list=."})
	if err != nil {
		return nil, fmt.Errorf("tests list: %w", err)
	}
	var names []string
	for line := range strings.Lines(out) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("tests list: %s has no test", p.pkg)
	}
	return names, nil
}

// part runs some of the tests as `go test -json` would.
func (p program) part(names []string) command {
	args := []string{
		p.converter, "-t", "-p", p.pkg, p.path, "-test.paniconexit0", "-test.v=test2json",
		"-test.run=^(" + strings.Join(names, "|") + ")$",
	}
	if p.timeout != "" {
		args = append(args, "-test.timeout="+p.timeout)
	}
	return command{dir: p.dir, args: args}
}

// output runs a command and returns what it prints; its complaints are part of the error.
func output(ctx context.Context, dir string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", strings.Join(args, " "), err), errors.New(strings.TrimSpace(complaints.String()+string(out))))
	}
	return string(out), nil
}
