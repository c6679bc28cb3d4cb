package judge

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPython_WhatIsMissingIsOneLineThatSaysHowToGetIt(t *testing.T) {
	none, lame := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(lame, "python3"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"python3": {none, "apt-get install python3 python3-venv"},
		"venv":    {lame, "apt-get install python3-venv"},
	} {
		t.Setenv("PATH", test.path)
		_, err := Python(t.Context(), io.Discard)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// Every package is pinned by hash, so that what judges is the same everywhere.
func TestRequirements_EveryPackageHasHashes(t *testing.T) {
	packages := strings.Split(string(requirements), "\n    # via")
	for _, p := range packages[:len(packages)-1] {
		if !strings.Contains(p, "==") || !strings.Contains(p, "--hash=sha256:") {
			t.Errorf("not pinned: %.200s", p)
		}
	}
	if len(packages) < 20 {
		t.Errorf("%d packages read", len(packages))
	}
}
