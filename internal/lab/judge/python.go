package judge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed requirements.txt
var requirements []byte

// Python gives the interpreter of a virtual environment that has what
// requirements.txt pins. The environment lies in the user's cache, by the hash
// of the requirements and the version of Python; where it is not there yet it
// is made, with lines on w that say what is being done. Errors: ErrMissing, or
// what pip said.
func Python(ctx context.Context, w io.Writer) (string, error) {
	return Environment(ctx, w, requirements)
}

// Environment does so for other requirements: each package with its hashes.
func Environment(ctx context.Context, w io.Writer, requirements []byte) (string, error) {
	system, version, err := systemPython(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("python environment find: %w", err)
	}
	sum := sha256.Sum256(append([]byte(version), requirements...))
	dir := filepath.Join(cache, "karpenterd", "python", hex.EncodeToString(sum[:8]))
	interpreter := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(dir); err == nil {
		return interpreter, nil
	}
	if err := makeEnvironment(ctx, w, system, dir, requirements); err != nil {
		return "", fmt.Errorf("python environment make: %w", err)
	}
	return interpreter, nil
}

// systemPython finds a python3 that can make virtual environments.
func systemPython(ctx context.Context) (path, version string, err error) {
	path, err = exec.LookPath("python3")
	if err != nil {
		return "", "", fmt.Errorf("%w: python3: install it with the system's package manager (Debian: apt-get install python3 python3-venv)", ErrMissing)
	}
	out, err := exec.CommandContext(ctx, path, "-c", "import sys, venv, ensurepip; print(sys.executable, sys.version)").Output()
	if err != nil {
		return "", "", fmt.Errorf("%w: the venv module of %s: install it with the system's package manager (Debian: apt-get install python3-venv)", ErrMissing, path)
	}
	return path, string(out), nil
}

// makeEnvironment builds beside dir and renames, so that dir is whole or not
// there, whoever else makes it at the same time.
func makeEnvironment(ctx context.Context, w io.Writer, system, dir string, requirements []byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	_, _ = fmt.Fprintf(w, "      python: making a virtual environment in %s (once)\n", dir)
	if out, err := exec.CommandContext(ctx, system, "-m", "venv", temp).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %w\n%s", err, tail(string(out)))
	}
	file := filepath.Join(temp, "requirements.txt")
	if err := os.WriteFile(file, requirements, 0o600); err != nil {
		return err
	}
	// Wheels only: a C compiler is not promised.
	pip := exec.CommandContext(ctx, filepath.Join(temp, "bin", "python"), "-m", "pip", "install",
		"--require-hashes", "--only-binary=:all:", "--no-deps", "--disable-pip-version-check", "--progress-bar=off", "-r", file)
	if err := installing(w, pip, bytes.Count(requirements, []byte("=="))); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil
}

// installing runs pip and counts the packages that it fetches.
func installing(w io.Writer, pip *exec.Cmd, all int) error {
	var complaint bytes.Buffer
	pip.Stderr = &complaint
	out, err := pip.StdoutPipe()
	if err != nil {
		return err
	}
	if err := pip.Start(); err != nil {
		return err
	}
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch name, fetched := strings.CutPrefix(lines.Text(), "Collecting "); {
		case fetched:
			n++
			name, _, _ = strings.Cut(name, " ")
			_, _ = fmt.Fprintf(w, "      python: %d of %d, %s\n", n, all, name)
		case strings.HasPrefix(lines.Text(), "Installing "):
			_, _ = fmt.Fprintf(w, "      python: installing %d packages\n", n)
		}
	}
	if err := pip.Wait(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("pip install: %w (without a network, only an environment made before can be used)\n%s", err, tail(complaint.String()))
		}
		return fmt.Errorf("pip install: %w", err)
	}
	return nil
}

// tail is the end of a long text: its last lines say what went wrong.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
