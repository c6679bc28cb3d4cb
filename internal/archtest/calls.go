package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// function is a function or a method of the product.
type function struct {
	file goFile
	decl *ast.FuncDecl
}

// functions are those of each folder, and the names of the fields of its structs.
type functions struct {
	in     map[string][]function
	fields map[string]map[string]bool
}

func functionsOf(t tree) functions {
	out := functions{in: map[string][]function{}, fields: map[string]map[string]bool{}}
	for _, f := range t.gos {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if decl, is := d.(*ast.FuncDecl); is {
				out.in[f.dir] = append(out.in[f.dir], function{f, decl})
			}
		}
		out.noteFields(f)
	}
	return out
}

func (all functions) noteFields(f goFile) {
	if all.fields[f.dir] == nil {
		all.fields[f.dir] = map[string]bool{}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if x, is := n.(*ast.StructType); is {
			for _, field := range x.Fields.List {
				for _, id := range field.Names {
					all.fields[f.dir][id.Name] = true
				}
			}
		}
		return true
	})
}

// calls says whether the function, or a function of its package that it calls, names the other
// one in its body. The types of values are not known: a method is known by its name alone, and
// so one that is called through an interface is found, too.
func (all functions) calls(caller, callee function) bool {
	seen := map[*ast.FuncDecl]bool{}
	for next := []function{caller}; len(next) > 0; next = next[1:] {
		f := next[0]
		if seen[f.decl] || f.decl.Body == nil {
			continue
		}
		seen[f.decl] = true
		for _, x := range f.file.named(f.decl.Body) {
			if x.method && !x.called && all.fields[f.file.dir][x.name] {
				continue // most likely the field
			}
			if x.means(callee) {
				return true
			}
			for _, other := range all.in[f.file.dir] {
				if x.means(other) {
					next = append(next, other)
				}
			}
		}
	}
	return false
}

// mention is a name in a body that may be a function's.
type mention struct {
	dir    string // of the function; empty for a method
	method bool
	called bool // a method: where it is not called, it may be a field
	name   string
}

func (x mention) means(f function) bool {
	if x.name != f.decl.Name.Name || x.method != (f.decl.Recv != nil) {
		return false
	}
	return x.method || x.dir == f.file.dir
}

// named lists what the body mentions, closures included.
func (f goFile) named(body ast.Node) (out []mention) {
	called := map[ast.Node]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
		case *ast.SelectorExpr:
			id, is := n.X.(*ast.Ident)
			if !is || !f.importsAs(id.Name) {
				out = append(out, mention{method: true, called: called[n], name: n.Sel.Name})
				out = append(out, f.named(n.X)...)
			} else if dir := f.folderOf(id.Name); dir != "" {
				out = append(out, mention{dir: dir, name: n.Sel.Name})
			}
			return false // a name behind a dot is no function of this package
		case *ast.Ident:
			out = append(out, mention{dir: f.dir, name: n.Name})
		}
		return true
	})
	return out
}

// importsAs says whether the file imports a package by the name.
func (f goFile) importsAs(name string) bool {
	return slices.ContainsFunc(f.syntax.Imports, func(spec *ast.ImportSpec) bool {
		if spec.Name != nil {
			return spec.Name.Name == name
		}
		return path.Base(strings.Trim(spec.Path.Value, `"`)) == name
	})
}
