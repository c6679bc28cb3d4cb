package archtest

import (
	"go/ast"
	"go/token"
)

// checkConstants finds numbers of the engine that somebody chose and that no reader, and no
// bench-constants, can tell apart: several on a line, or without a word about them.
func checkConstants(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || !under(f.dir, engineRoot) {
			continue
		}
		for _, d := range f.syntax.Decls {
			group, is := d.(*ast.GenDecl)
			if !is || group.Tok != token.CONST {
				continue
			}
			told := group.Doc != nil
			for _, s := range group.Specs {
				spec, is := s.(*ast.ValueSpec)
				if !is || !hasNumber(spec) {
					continue
				}
				// A comment holds for the lines that follow it without one of their own.
				told = told || spec.Doc != nil
				switch name := spec.Names[0].Name; {
				case len(spec.Names) > 1:
					all = append(all, f.at(spec.Pos(), "constants %s and others stand on one line: give each its own", name))
				case !told && spec.Comment == nil:
					all = append(all, f.at(spec.Pos(), "constant %s has no comment: say what it is, with its unit", name))
				}
			}
		}
	}
	return sorted(all)
}

// hasNumber says whether a value of the constants is a number that somebody wrote.
func hasNumber(spec *ast.ValueSpec) bool {
	found := false
	for _, v := range spec.Values {
		ast.Inspect(v, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			found = found || is && (lit.Kind == token.INT || lit.Kind == token.FLOAT)
			return true
		})
	}
	return found
}
