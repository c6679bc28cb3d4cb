package archtest

import (
	"go/ast"
	"strings"
)

// Sizes beyond which a file or a function is more than one thing.
const (
	maxFileLines     = 600 // where it is one noun; 400 are plenty for most
	maxFunctionLines = 60  // between the braces
	minPackageText   = 60  // characters of a package comment that says something
)

// allowLong excuses a function whose length is data (a schema literal). It
// stands in the function's comment and is followed by the reason.
const allowLong = "//archtest:allow-long "

// checkPackageComments finds packages without a comment that says what they own.
func checkPackageComments(t tree) []breach {
	first := map[string]goFile{} // where to complain
	said := map[string]bool{}
	for _, f := range t.gos {
		key := f.dir + " " + strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if _, ok := first[key]; !ok {
			first[key] = f
		}
		if text := f.syntax.Doc.Text(); len(text) >= minPackageText {
			said[key] = true
		}
	}
	var all []breach
	for key, f := range first {
		if !said[key] {
			all = append(all, f.at(f.syntax.Package, "package %s has no comment that says what it owns, its invariants and its units", f.syntax.Name.Name))
		}
	}
	return sorted(all)
}

// checkLengths finds files and functions that are too long. Tests and
// generated files may be as long as they need.
func checkLengths(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || f.generated {
			continue
		}
		if f.lines > maxFileLines {
			all = append(all, breach{f.path, 1, "file is too long: split it by what its parts own"})
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			lines := f.line(fn.Body.Rbrace) - f.line(fn.Body.Lbrace) - 1
			if lines > maxFunctionLines && !excused(fn.Doc) {
				all = append(all, f.at(fn.Pos(), "function %s has %d lines, more than %d", fn.Name.Name, lines, maxFunctionLines))
			}
		}
	}
	return sorted(all)
}

func excused(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if reason, ok := strings.CutPrefix(c.Text, allowLong); ok && strings.TrimSpace(reason) != "" {
			return true
		}
	}
	return false
}
