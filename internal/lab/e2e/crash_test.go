//go:build lab

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// TestLab_LeavesNothing kills a laboratory: no process stays, and the next start sweeps its files.
// That one is closed, which leaves neither.
func TestLab_LeavesNothing(t *testing.T) {
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(self, root)
	victim.Env = append(os.Environ(), roleVariable+"=laboratory")
	output, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	victim.Stderr = os.Stderr
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	dir, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ready {
		t.Fatalf("the laboratory said %q, %v", line, err)
	}
	if len(processesNaming(t, dir)) < 5 {
		t.Fatalf("processes %v, want the control plane's", processesNaming(t, dir))
	}

	if err := victim.Process.Kill(); err != nil { // SIGKILL: nothing can be tidied up
		t.Fatal(err)
	}
	_ = victim.Wait()
	eventually(t, func() error {
		if left := processesNaming(t, dir); len(left) > 0 {
			return fmt.Errorf("processes are left: %v", left)
		}
		return nil
	})
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the crash left no files, so there is nothing to sweep: %v", err)
	}
	l, err := lab.Start(t.Context(), lab.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s was not swept: %v", dir, err)
	}
	closeLeavesNothing(t, l, root)
}

// processesNaming lists the living processes whose command line names a
// directory; every program of a laboratory is given files there.
func processesNaming(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		raw, err := os.ReadFile(file) // an error means that it has just ended
		if err == nil && strings.Contains(string(raw), dir) {
			name, _, _ := strings.Cut(string(raw), "\x00")
			out = append(out, filepath.Base(filepath.Dir(file))+" "+filepath.Base(name))
		}
	}
	return out
}
