package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A product fused with a sum is rounded once instead of twice, which arm64 does
// and amd64 does not: the same Step would then plan differently. All packages of
// the engine are looked at, as functions are inlined into others.
func TestEngine_NothingIsFusedOnARM64(t *testing.T) {
	if fused := fusedIn(t, "./internal/engine/..."); len(fused) > 0 {
		t.Errorf("write float64(x*y) + z, since the compiler has fused:\n%s", strings.Join(fused, "\n"))
	}
}

// What looks for fused instructions finds them, and says where.
func TestFusedIn_FindsWhatIsFusedOnly(t *testing.T) {
	fused := fusedIn(t, "./internal/archtest/testdata/fused")
	if len(fused) != 1 || !strings.Contains(fused[0], "fused.go:6") {
		t.Errorf("found %q, want the one of line 6", fused)
	}
}

// fusedIn compiles the packages for arm64 and lists the products that are fused with a sum. The
// compiler is told to fuse every one, as it does anyway, and to say of each where it is. The go
// tool keeps what it has said.
func fusedIn(t *testing.T, packages string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-d=fmahash=vy", packages)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(said), "matched no packages") {
		t.Fatalf("go build %s: %v\n%s", packages, err, said)
	}
	var found []string
	for line := range strings.Lines(string(said)) {
		if place, is := strings.CutPrefix(line, "fmahash triggered "); is {
			found = append(found, strings.TrimSpace(place))
		}
	}
	return found
}
