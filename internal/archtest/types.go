package archtest

import (
	"cmp"
	"go/ast"
	"maps"
	"strings"
)

// Sizes beyond which a type of the engine has more than one owner.
const (
	maxFields  = 20
	maxMethods = 25
)

// ratchets are the types that had more methods than the limit when promoted ones and functions
// began to count, with their number. It may only fall: a type that has fewer takes the new
// number, and one within the limit leaves the list.
func ratchets() map[string]int {
	return map[string]int{
		"internal/engine.try":                33,
		"internal/engine/assign.Assigner":    58,
		"internal/engine/assign.domains":     50,
		"internal/engine/certify.audit":      39,
		"internal/engine/certify.certifier":  35,
		"internal/engine/consolidate.Search": 53,
		"internal/engine/consolidate.shadow": 26,
		"internal/engine/demand.Demand":      48,
		"internal/engine/disrupt.Judge":      34,
		"internal/engine/disrupt.retirer":    53,
		"internal/engine/explain.course":     36,
		"internal/engine/explain.explainer":  30,
		"internal/engine/launch.Launcher":    25,
		"internal/engine/launch.clipper":     51,
		"internal/engine/launch.division":    62,
		"internal/engine/launch.holder":      54,
		"internal/engine/launch.tier":        26,
		"internal/engine/launch.turn":        50,
		"internal/engine/memory.Memory":      26,
		"internal/engine/moves.mover":        34,
		"internal/engine/moves.standings":    32,
		"internal/engine/offer.Market":       52,
		"internal/engine/open.opener":        44,
		"internal/engine/price.program":      30,
		"internal/engine/room.Room":          49,
		"internal/engine/static.Launcher":    30,
		"internal/engine/topology.builder":   37,
	}
}

// typeName is a type of the module.
type typeName struct{ dir, name string }

func (n typeName) String() string { return n.dir + "." + n.name }

// typeInfo is what the rule about types knows of one.
type typeInfo struct {
	declared  breach // where it stands; the text is to be added
	fields    int
	methods   map[string]bool // by name: its own, or those of the interface that it is
	functions int             // of its package that take it first
	embeds    []typeName
}

// typesOf returns the types of the engine and of the packages whose types it may embed.
func typesOf(t tree) map[typeName]*typeInfo {
	all := map[typeName]*typeInfo{}
	of := func(dir, name string) *typeInfo {
		n := typeName{dir, name}
		if all[n] == nil {
			all[n] = &typeInfo{methods: map[string]bool{}}
		}
		return all[n]
	}
	for _, f := range t.gos {
		if f.test || !under(f.dir, "internal") {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name := receiver(d); name != "" {
					of(f.dir, name).methods[d.Name.Name] = true
				} else if name := firstParameter(d); name != "" {
					of(f.dir, name).functions++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if spec, is := s.(*ast.TypeSpec); is {
						of(f.dir, spec.Name.Name).declare(f, spec)
					}
				}
			}
		}
	}
	return all
}

// declare notes what the declaration of the type says.
func (i *typeInfo) declare(f goFile, spec *ast.TypeSpec) {
	i.declared = f.at(spec.Pos(), "")
	switch t := spec.Type.(type) {
	case *ast.StructType:
		for _, x := range t.Fields.List {
			i.fields += max(1, len(x.Names))
			if len(x.Names) == 0 {
				i.embed(f, x.Type)
			}
		}
	case *ast.InterfaceType:
		for _, x := range t.Methods.List {
			for _, name := range x.Names {
				i.methods[name.Name] = true
			}
			if len(x.Names) == 0 {
				i.embed(f, x.Type)
			}
		}
	}
}

// embed notes that the type embeds another, unless that is of another module.
func (i *typeInfo) embed(f goFile, t ast.Expr) {
	if s, is := bare(t).(*ast.SelectorExpr); is {
		if pkg, is := s.X.(*ast.Ident); is {
			if dir := f.folderOf(pkg.Name); dir != "" {
				i.embeds = append(i.embeds, typeName{dir, s.Sel.Name})
			}
		}
	} else if name := nameOf(t); name != "" {
		i.embeds = append(i.embeds, typeName{f.dir, name})
	}
}

// folderOf returns the folder of this module that the file imports by the name; empty if it
// is none.
func (f goFile) folderOf(name string) string {
	for _, spec := range f.syntax.Imports {
		folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
		as := folder[strings.LastIndex(folder, "/")+1:]
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if ours && as == name {
			return folder
		}
	}
	return ""
}

// methodsOf returns the names of the methods that the type has for code in the folder, with
// those that are promoted from what it embeds.
func methodsOf(all map[typeName]*typeInfo, n typeName, from string, seen map[typeName]bool) map[string]bool {
	out, i := map[string]bool{}, all[n]
	if i == nil || seen[n] {
		return out
	}
	seen[n] = true
	for name := range i.methods {
		if n.dir == from || ast.IsExported(name) {
			out[name] = true
		}
	}
	for _, e := range i.embeds {
		maps.Copy(out, methodsOf(all, e, from, seen))
	}
	return out
}

// checkTypes finds types of the engine that own too much. What a type does is its methods,
// those that it has by embedding other types, and the functions of its package that take it
// as their first parameter: the one is as easily written as the other.
func checkTypes(t tree) []breach { return checkTypesWith(t, ratchets()) }

func checkTypesWith(t tree, limits map[string]int) (found []breach) {
	types := typesOf(t)
	for n, i := range types {
		if !under(n.dir, engineRoot) || i.declared.path == "" {
			continue
		}
		if i.fields > maxFields {
			found = append(found, i.declared.with("struct %s has %d fields, more than %d: split it by who writes them", n.name, i.fields, maxFields))
		}
		count, limit := len(methodsOf(types, n, n.dir, map[typeName]bool{}))+i.functions, cmp.Or(limits[n.String()], maxMethods)
		switch {
		case count > limit:
			found = append(found, i.declared.with("type %s has %d methods, with promoted ones and functions that take it first, more than %d: split it by what its parts own", n.name, count, limit))
		case count < limits[n.String()]:
			found = append(found, i.declared.with("type %s has %d methods, fewer than its ratchet of %d: lower it in ratchets() of internal/archtest", n.name, count, limit))
		}
	}
	return sorted(found)
}

// receiver is the name of the type that the function is a method of, empty for none.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return nameOf(d.Recv.List[0].Type)
}

// firstParameter is the name of the type of the package that the function takes first, empty
// for none. What makes a value of another type (newX) belongs to that type.
func firstParameter(d *ast.FuncDecl) string {
	if d.Recv != nil || len(d.Type.Params.List) == 0 || strings.HasPrefix(strings.ToLower(d.Name.Name), "new") {
		return ""
	}
	return nameOf(d.Type.Params.List[0].Type)
}

// nameOf is the name of a type of the same package, whatever stands around it; empty for
// another type.
func nameOf(t ast.Expr) string {
	if id, is := bare(t).(*ast.Ident); is {
		return id.Name
	}
	return ""
}

// bare takes the pointer and the type arguments off.
func bare(t ast.Expr) ast.Expr {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return t
		}
	}
}
