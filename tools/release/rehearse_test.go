package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A release of all platforms takes more than the hour after which GoReleaser gives up by itself.
func TestGoreleaser_MayTakeLongerThanAnHour(t *testing.T) {
	work := t.TempDir()
	program, said := filepath.Join(work, "goreleaser"), filepath.Join(work, "said")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" > "+said+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := made{root: "../.."}.goreleaser(t.Context(), work, program, nil)
	args, _ := os.ReadFile(said)
	if err != nil || !strings.Contains(string(args), "--timeout "+patience) {
		t.Errorf("%v: goreleaser is called with %q", err, args)
	}
	makefile, err := os.ReadFile("../../GNUmakefile")
	if err != nil || !strings.Contains(string(makefile), "release --clean --timeout "+patience+"\n") {
		t.Errorf("%v: make release has another patience than %s", err, patience)
	}
}
