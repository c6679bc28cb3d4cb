package archtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// fusedIn compiles the packages for arm64 and lists the fused multiplications and
// additions of their machine code.
func fusedIn(t *testing.T, packages string) []string {
	t.Helper()
	pattern := regexp.MustCompile(`\bF(N?)M(ADD|SUB)[SD]\b`)
	listed := goTool(t.Context(), t, "list", "-export", "-f", "{{.Export}}", packages)
	var found []string
	for _, archive := range strings.Fields(listed) {
		for line := range strings.Lines(goTool(t.Context(), t, "tool", "objdump", archive)) {
			if pattern.MatchString(line) {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	if listed == "" {
		t.Fatalf("no package is %s", packages)
	}
	return found
}

func goTool(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
