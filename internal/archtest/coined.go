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

// coinedWord is a word that a reader cannot know from elsewhere, or that says
// nothing at the call. Its inflections count as the word.
type coinedWord struct {
	parts   []string // parts of a name, one after the other
	alone   bool     // only as the whole name
	instead string   // what to write
}

// irregular lists the inflections that no rule makes.
func irregular() map[string][]string {
	return map[string][]string{
		"leave": {"left"},
		"may":   {"might"},
	}
}

// coinedWords lists the words that names do not use. ARCHITECTURE.md has the
// glossary of those that they do use.
func coinedWords() []coinedWord {
	return []coinedWord{
		{parts: []string{"apart"}, instead: "anti-affinity or exclusive"},
		{parts: []string{"calm"}, instead: "stable"},
		{parts: []string{"company"}, instead: "affinity targets"},
		{parts: []string{"either"}, instead: "possible"},
		{parts: []string{"few"}, alone: true, instead: "how many"},
		{parts: []string{"goes"}, instead: "what is done: deleted, replaced, terminated or evicted"},
		{parts: []string{"gone"}, instead: "removed"},
		{parts: []string{"held"}, alone: true, instead: "what it is: blocked, open, used"},
		{parts: []string{"is"}, alone: true, instead: "what is the case"},
		{parts: []string{"kept"}, alone: true, instead: "what it is"},
		{parts: []string{"kin"}, instead: "label set"},
		{parts: []string{"least"}, alone: true, instead: "of what it is the minimum"},
		{parts: []string{"leave", "open"}, instead: "awaits nodes"},
		{parts: []string{"leftopen"}, instead: "awaits nodes"},
		{parts: []string{"look"}, alone: true, instead: "what is looked at, or a full verb"},
		{parts: []string{"may"}, alone: true, instead: "what is allowed"},
		{parts: []string{"nearly"}, alone: true, instead: "how much"},
		{parts: []string{"over"}, alone: true, instead: "what is exceeded, or has ended"},
		{parts: []string{"put", "off"}, instead: "defer"},
		{parts: []string{"putoff"}, instead: "defer"},
		{parts: []string{"settle"}, instead: "what is decided, or the cooldown"},
		{parts: []string{"some"}, alone: true, instead: "which"},
		{parts: []string{"uneasy"}, instead: "unstable"},
		{parts: []string{"vain"}, instead: "failed, or backoff"},
		{parts: []string{"words"}, alone: true, instead: "what it holds (words is the layer of value packages)"},
	}
}

// checkCoined finds names declared in the core and in translate that have a coined
// word. Names that are only used are declared elsewhere, and are found there. A
// constant whose text has the word as well names what is on the wire.
func checkCoined(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		if f.test || !slices.ContainsFunc(plainRoots(), func(root string) bool { return under(f.dir, root) }) {
			continue
		}
		texts := constantTexts(f.syntax)
		for _, id := range declared(f.syntax) {
			for _, w := range coinedWords() {
				if w.in(nameParts(id.Name)) && !w.in(nameParts(texts[id])) {
					all = append(all, f.at(id.Pos(), "%s has the coined word %q: say %s", id.Name, strings.Join(w.parts, " "), w.instead))
				}
			}
		}
	}
	return sorted(all)
}

// in reports whether a name with these parts has the word.
func (w coinedWord) in(name []string) bool {
	if w.alone && len(name) != len(w.parts) {
		return false
	}
	for from := 0; from+len(w.parts) <= len(name); from++ {
		if slices.EqualFunc(name[from:from+len(w.parts)], w.parts, inflects) {
			return true
		}
	}
	return false
}

// inflects reports whether a part of a name is the word, or an inflection of it, or
// what says the opposite.
func inflects(part, word string) bool {
	last, stem := word[len(word)-1:], strings.TrimRight(word, "ey")
	forms := append([]string{word, word + "s", word + last + "ing"}, irregular()[word]...)
	for _, end := range []string{"es", "ies", "ed", "ied", "ing", "ying", "ly", "ily"} {
		forms = append(forms, stem+end)
	}
	return slices.Contains(forms, part) || slices.Contains(forms, strings.TrimPrefix(part, "un"))
}

// constantTexts maps the names of constants that are texts to these.
func constantTexts(file *ast.File) map[*ast.Ident]string {
	texts := map[*ast.Ident]string{}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					texts[v.Names[i]] = lit.Value
				}
			}
		}
	}
	return texts
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
