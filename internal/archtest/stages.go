package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// engineRoot is the folder of the decision core.
const engineRoot = "internal/engine"

// stages lists the packages of the decision core, from Step down to what knows of
// nothing else. A package imports only those that come after it.
func stages() []string {
	return []string{
		"record", ".", "moves", "derived", "explain", "certify", "disrupt", "budget", "consolidate", "open", "landing", "static", "launch", "assign", // what a Step does
		"room", "offer", "demand", "timing", // what it works on
		"bound", "pack", "price", "knapsack", // the solver
		"topology", "fit", "random", // the filters of one node, and seeded numbers
		"memory", "view", "journal", // what all stages are given
	}
}

// stageOf returns the place of the folder in the order of stages, -1 for one
// outside the engine or without a place.
func stageOf(dir string) int {
	if dir == engineRoot {
		return slices.Index(stages(), ".")
	}
	name, inside := strings.CutPrefix(dir, engineRoot+"/")
	if !inside {
		return -1
	}
	return slices.Index(stages(), name)
}

// checkStages finds imports within the engine that point back up. Tests may judge a
// stage by the whole Step.
func checkStages(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if !under(f.dir, engineRoot) {
			continue
		}
		from := stageOf(f.dir)
		if from < 0 {
			all = append(all, f.at(f.syntax.Package, "%s has no place among the stages: see stages() of internal/archtest", f.dir))
			continue
		}
		if f.test {
			continue
		}
		for imported, pos := range f.imports() {
			if to := stageOf(strings.TrimPrefix(imported, module+"/")); to >= 0 && to <= from {
				all = append(all, f.at(pos, "%s must not import %s, a later stage", f.dir, strings.TrimPrefix(imported, module+"/")))
			}
		}
	}
	return sorted(all)
}

// Sizes beyond which a type of the engine has more than one owner.
const (
	maxFields  = 20
	maxMethods = 25
)

// checkTypes finds types of the engine that own too much.
func checkTypes(t tree) []breach {
	type key struct{ dir, name string }
	methods, declared := map[key]int{}, map[key]breach{}
	var all []breach
	for _, f := range t.gos {
		if f.test || !under(f.dir, engineRoot) {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name := receiver(d); name != "" {
					methods[key{f.dir, name}]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					spec, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					declared[key{f.dir, spec.Name.Name}] = f.at(spec.Pos(), "type %s has more than %d methods: split it by what its parts own", spec.Name.Name, maxMethods)
					if n := fields(spec.Type); n > maxFields {
						all = append(all, f.at(spec.Pos(), "struct %s has %d fields, more than %d: split it by who writes them", spec.Name.Name, n, maxFields))
					}
				}
			}
		}
	}
	for k, n := range methods {
		if n > maxMethods {
			all = append(all, declared[k])
		}
	}
	return sorted(all)
}

// receiver is the name of the type that the function is a method of, empty for
// none.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// fields counts those of a struct, an embedded one as one.
func fields(t ast.Expr) (n int) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return 0
	}
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
