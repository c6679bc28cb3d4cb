package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every direct dependency is somebody's decision: its reason is in the table of
// CONTRIBUTING.md, and the table names nothing that is not required any more.
func TestDependencies_EachHasAReason(t *testing.T) {
	required := map[string]bool{} // module path -> direct
	for line := range strings.Lines(atRoot(t, "go.mod")) {
		if fields := strings.Fields(strings.TrimPrefix(line, "require ")); len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			required[fields[0]] = !strings.HasSuffix(strings.TrimSpace(line), "// indirect")
		}
	}
	reasons := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+\\.[a-z]+/[^`]+)` \\| .{8,} \\|$").FindAllStringSubmatch(atRoot(t, "CONTRIBUTING.md"), -1) {
		reasons[row[1]] = true
	}
	if len(required) == 0 || len(reasons) == 0 {
		t.Fatalf("%d requirements and %d reasons found", len(required), len(reasons))
	}
	for module, direct := range required {
		if direct && !reasons[module] {
			t.Errorf("%s has no line in CONTRIBUTING.md that says why it is needed", module)
		}
	}
	for module := range reasons {
		if _, ok := required[module]; !ok {
			t.Errorf("CONTRIBUTING.md gives a reason for %s, which go.mod does not require", module)
		}
	}
}

// atRoot returns the text of a file of the checkout.
func atRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
