package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func guideToDisruption(t *testing.T) string {
	t.Helper()
	guide, err := os.ReadFile("../../../templates/guides/disruption.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(guide)
}

func TestGuide_HasARowForEveryEventOfDisruption(t *testing.T) {
	guide := guideToDisruption(t)
	file, err := parser.ParseFile(token.NewFileSet(), "events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if kind, is := spec.Type.(*ast.Ident); is && kind.Name == "disruptionEvent" {
			reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value) //nolint:forcetypeassert // the constants are literals
			if err != nil {
				t.Fatal(err)
			}
			if found++; !strings.Contains(guide, "\n| `"+reason+"` |") {
				t.Errorf("templates/guides/disruption.md has no row for the Event %s", reason)
			}
		}
		return true
	})
	if found < 7 {
		t.Errorf("only %d Events found", found)
	}
}

func TestGuide_NamesEveryMetricOfDisruption(t *testing.T) {
	guide := guideToDisruption(t)
	for _, c := range newDisruptions().collectors() {
		descriptions := make(chan *prometheus.Desc, 1)
		c.Describe(descriptions)
		_, name, _ := strings.Cut((<-descriptions).String(), `"`)
		name, _, _ = strings.Cut(name, `"`)
		if !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("templates/guides/disruption.md does not name the metric %s", name)
		}
	}
}
