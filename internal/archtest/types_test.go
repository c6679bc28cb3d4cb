package archtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// A type on the list of those above the limit may have as many methods as it has, and no more;
// when it has fewer, its number falls.
func TestTypes_ARatchetOnlyFalls(t *testing.T) {
	const methods = maxMethods + 3
	var code strings.Builder
	code.WriteString("package engine\n\ntype wide struct{}\n")
	for i := range methods {
		fmt.Fprintf(&code, "func (t wide) m%d() {}\n", i)
	}
	source, err := load(fstest.MapFS{"internal/engine/a.go": {Data: []byte(code.String())}}, []string{"internal/engine/a.go"})
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{
		0:           "more than 25",
		methods - 1: "more than 27",
		methods:     "",
		methods + 1: "fewer than its ratchet of 29",
	} {
		got := checkTypesWith(source, map[string]int{"internal/engine.wide": limit})
		if (len(got) > 0) != (want != "") || want != "" && !strings.Contains(got[0].text, want) {
			t.Errorf("ratchet %d: %v, want %q", limit, got, want)
		}
	}
}
