package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// impure reports whether a package would let the decision core see or change
// anything but its input. hash/maphash and crypto/rand are random sources that
// the input did not seed.
func impure(imported string) bool {
	denied := []string{"context", "os", "net", "log", "sync", "syscall", "math/rand", "crypto/rand", "hash/maphash"}
	return slices.ContainsFunc(denied, func(d string) bool { return under(imported, d) })
}

// readsClock reports whether a name of package time reads the clock or waits for it.
func readsClock(name string) bool {
	return slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}, name)
}

// ofCore reports whether a file is of what decides, or of what checks it.
func ofCore(f goFile) bool {
	l, _ := layerOf(f.dir)
	return slices.Contains([]string{"words", "engine", "proof"}, l.name)
}

// checkPurity finds I/O, clocks, goroutines and unseeded randomness in the
// words, the engine and the checker of its proofs. They reach some of these packages through the standard
// library (fmt imports os), so only direct use is looked at.
func checkPurity(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || !ofCore(f) {
			continue
		}
		for imported, pos := range f.imports() {
			if impure(imported) {
				all = append(all, f.at(pos, "the decision core must not import %s", imported))
			}
		}
		clockName := importName(f, "time")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && clockName != "" && x.Name == clockName && readsClock(n.Sel.Name) {
					all = append(all, f.at(n.Pos(), "the decision core must not use time.%s: time is an argument", n.Sel.Name))
				}
			case *ast.GoStmt:
				all = append(all, f.at(n.Pos(), "the decision core must not start goroutines"))
			}
			return true
		})
	}
	return sorted(all)
}

// sequential is the variable of the makefile that lists the packages which are tested
// without the race detector.
var sequential = regexp.MustCompile(`(?m)^SEQUENTIAL := (.*)$`)

// checkSequential finds goroutines in packages that are tested without the race
// detector, tests included.
func checkSequential(t tree) []breach {
	var patterns []string
	for _, f := range t.files {
		if found := sequential.FindStringSubmatch(f.text); f.path == "GNUmakefile" && found != nil {
			patterns = strings.Fields(found[1])
		}
	}
	var all []breach
	for _, f := range t.gos {
		if !slices.ContainsFunc(patterns, func(p string) bool {
			root, below := strings.CutSuffix(strings.TrimPrefix(p, "./"), "/...")
			return f.dir == root || below && under(f.dir, root)
		}) {
			continue
		}
		for imported, pos := range f.imports() {
			if under(imported, "sync") || under(imported, "golang.org/x/sync") {
				all = append(all, f.at(pos, "%s is tested without the race detector: it must not import %s", f.dir, imported))
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if n, ok := n.(*ast.GoStmt); ok {
				all = append(all, f.at(n.Pos(), "%s is tested without the race detector: it must not start goroutines", f.dir))
			}
			return true
		})
	}
	return sorted(all)
}

// importName is the name that the file gives to a package, or nothing.
func importName(f goFile, imported string) string {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value != `"`+imported+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return imported
	}
	return ""
}
