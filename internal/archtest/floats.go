package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// floats is the only package of the core that may compute with floating point:
// what leaves it is rounded to integers once, so that every comparison after
// that is the same on every machine.
const floats = "internal/engine/price"

// checkFloats finds floating point in the words and the engine elsewhere: its
// types, its literals, and functions of package math, which all take it.
func checkFloats(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || f.dir == floats || !ofCore(f) {
			continue
		}
		mathName, bigName := importName(f, "math"), "big"
		if importName(f, "math/big") != "math/big" {
			bigName = importName(f, "math/big")
		}
		say := func(at token.Pos, what string) {
			all = append(all, f.at(at, "%s: in the decision core only %s may compute with floating point", what, floats))
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if slices.Contains([]string{"float32", "float64", "complex64", "complex128"}, n.Name) {
					say(n.Pos(), n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT || n.Kind == token.IMAG {
					say(n.Pos(), n.Value)
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && (mathName != "" && x.Name == mathName && !integer(n.Sel.Name) || bigName != "" && x.Name == bigName && strings.Contains(n.Sel.Name, "Float")) {
					say(n.Pos(), x.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	return sorted(all)
}

// integer says whether a name of package math is the limit of an integer type.
func integer(name string) bool {
	return strings.HasPrefix(name, "MaxInt") || strings.HasPrefix(name, "MinInt") || strings.HasPrefix(name, "MaxUint")
}
