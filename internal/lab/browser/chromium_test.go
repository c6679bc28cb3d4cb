package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind_TakesTheOneThatIsNamedAndElseSaysWhatToInstall(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv(envChromium, "")
	if path, err := Find(); err == nil || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("%q, %v", path, err)
	}
	for _, name := range []string{"chromium", "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := Find(); err != nil || path != filepath.Join(dir, "chromium") {
		t.Errorf("%q, %v", path, err)
	}
	t.Setenv(envChromium, filepath.Join(dir, "mine"))
	if path, err := Find(); err != nil || path != filepath.Join(dir, "mine") {
		t.Errorf("%q, %v", path, err)
	}
}
