package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// mostReasonFiles is how many files of the product may compare a reason to disrupt by name:
// those that say when a reason holds, and the checker of the simulator, which asks that of each.
const mostReasonFiles = 6

// reasonPackage owns the reasons, and reasonTable says there what follows from each.
const reasonPackage, reasonTable = "internal/plan", "internal/plan/reason.go"

// checkReasons finds comparisons of a reason with one of them by name, where the product has
// too many files with any. Whoever compares has to be found again for each new reason, and
// nothing says where to look.
func checkReasons(t tree) []breach {
	names := reasonNames(t)
	found := map[string]breach{} // the first of each file
	for _, f := range t.gos {
		if f.test || f.path == reasonTable {
			continue
		}
		named := f.reason(names)
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			for _, x := range compared(n) {
				if name := named(x); name != "" && found[f.path].path == "" {
					found[f.path] = f.at(x.Pos(), "plan.%s is compared by name: ask for one of its plan.Traits; only %d files may compare", name, mostReasonFiles)
				}
			}
			return true
		})
	}
	if len(found) <= mostReasonFiles {
		return nil
	}
	return sorted(slices.Collect(maps.Values(found)))
}

// reasonNames lists the constants of type DeleteReason.
func reasonNames(t tree) map[string]bool {
	names := map[string]bool{}
	for _, f := range t.gos {
		if f.path != reasonTable {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is && isNamed(spec.Type, "DeleteReason") {
				for _, id := range spec.Names {
					names[id.Name] = true
				}
			}
			return true
		})
	}
	return names
}

// reason returns what says which reason an expression of the file names; "" for none. A
// conversion of a name names it, too.
func (f goFile) reason(names map[string]bool) func(ast.Expr) string {
	words := ""
	for _, spec := range f.syntax.Imports {
		if imported := strings.Trim(spec.Path.Value, `"`); imported == module+"/"+reasonPackage {
			words = path.Base(imported)
			if spec.Name != nil {
				words = spec.Name.Name
			}
		}
	}
	var named func(ast.Expr) string
	named = func(x ast.Expr) string {
		switch x := x.(type) {
		case *ast.ParenExpr:
			return named(x.X)
		case *ast.CallExpr:
			if len(x.Args) == 1 {
				return named(x.Args[0])
			}
		case *ast.SelectorExpr:
			if words != "" && isNamed(x.X, words) && names[x.Sel.Name] {
				return x.Sel.Name
			}
		case *ast.Ident:
			if f.dir == reasonPackage && names[x.Name] {
				return x.Name
			}
		}
		return ""
	}
	return named
}

// compared returns the expressions that something is compared with: operands of == and !=,
// cases, and what a list or a table of reasons has, since these are there to be looked through.
func compared(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.CompositeLit:
		switch kind := n.Type.(type) {
		case *ast.ArrayType:
			if ofReasons(kind.Elt) {
				return n.Elts
			}
		case *ast.MapType:
			if ofReasons(kind.Key) {
				return keys(n.Elts)
			}
		}
	}
	return nil
}

func keys(elements []ast.Expr) (out []ast.Expr) {
	for _, x := range elements {
		if pair, is := x.(*ast.KeyValueExpr); is {
			out = append(out, pair.Key)
		}
	}
	return out
}

// ofReasons says whether the type is DeleteReason, or a text as which a reason is compared.
func ofReasons(kind ast.Expr) bool {
	if x, is := kind.(*ast.SelectorExpr); is {
		kind = x.Sel
	}
	return isNamed(kind, "DeleteReason") || isNamed(kind, "string")
}

func isNamed(x ast.Expr, name string) bool {
	id, is := x.(*ast.Ident)
	return is && id.Name == name
}
