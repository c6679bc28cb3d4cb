package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The user hears of a browser that does not open, and Ctrl-C does not end one that does.
func TestUI_TheBrowserIsItsOwnProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nread -r _ _ _ _ group _ < /proc/$$/stat; [ $$ = $group ] && exit 3\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	warned := make(chan error, 1)
	if err := openBrowser("http://127.0.0.1:1/", func(err error) { warned <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-warned; !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v, want a process group of its own", err)
	}
}
