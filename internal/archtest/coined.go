package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// plainRoots are the folders whose names keep to the terms of the field.
func plainRoots() []string {
	return []string{"internal/engine", "internal/cluster", "internal/plan", "internal/proof", "internal/translate"}
}

// coinedWord is a word that a reader cannot know from elsewhere.
type coinedWord struct {
	parts   []string // parts of a name, one after the other
	alone   bool     // only as the whole name
	instead string   // what to write
}

// coinedWords lists the words that names do not use. ARCHITECTURE.md has the
// glossary of those that they do use.
func coinedWords() []coinedWord {
	return []coinedWord{
		{parts: []string{"apart"}, instead: "anti-affinity or exclusive"},
		{parts: []string{"company"}, instead: "affinity targets"},
		{parts: []string{"settle"}, instead: "what is decided (settled and unsettled are in the glossary)"},
		{parts: []string{"either"}, instead: "possible"},
		{parts: []string{"kin"}, instead: "label set"},
		{parts: []string{"leftopen"}, instead: "awaits nodes"},
		{parts: []string{"left", "open"}, instead: "awaits nodes"},
		{parts: []string{"putoff"}, instead: "defer"},
		{parts: []string{"put", "off"}, instead: "defer"},
		{parts: []string{"words"}, alone: true, instead: "what it holds (words is the layer of value packages)"},
	}
}

// checkCoined finds names declared in the core and in translate that have a coined
// word. Names that are only used are declared elsewhere, and are found there.
func checkCoined(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || !slices.ContainsFunc(plainRoots(), func(root string) bool { return under(f.dir, root) }) {
			continue
		}
		for _, id := range declared(f.syntax) {
			for _, w := range coinedWords() {
				if w.in(nameParts(id.Name)) {
					all = append(all, f.at(id.Pos(), "%s has the coined word %q: say %s", id.Name, strings.Join(w.parts, " "), w.instead))
				}
			}
		}
	}
	return sorted(all)
}

// in reports whether a name with these parts has the word.
func (w coinedWord) in(name []string) bool {
	if w.alone {
		return slices.Equal(name, w.parts)
	}
	for from := 0; from+len(w.parts) <= len(name); from++ {
		if slices.Equal(name[from:from+len(w.parts)], w.parts) {
			return true
		}
	}
	return false
}

// declared lists the names that a file declares: of the package and of imports, of
// functions, types, fields, methods, parameters, constants, variables and labels.
func declared(file *ast.File) []*ast.Ident {
	found := []*ast.Ident{file.Name}
	add := func(ids ...ast.Expr) {
		for _, x := range ids {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
				found = append(found, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Name != nil {
				add(n.Name)
			}
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.Field:
			found = append(found, n.Names...)
		case *ast.ValueSpec:
			found = append(found, n.Names...)
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return found
}

// nameParts splits a name at capitals, digits and underscores, and returns the
// parts in lower case: those of parseURLOf are parse, url and of.
func nameParts(name string) []string {
	var parts []string
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			continue
		}
		begins := i == 0 || !unicode.IsLetter(runes[i-1])
		if unicode.IsUpper(r) && i > 0 {
			begins = begins || !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
		}
		if begins {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += string(unicode.ToLower(r))
	}
	return parts
}
