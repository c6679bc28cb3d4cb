package archtest

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the path of the root module; the modules under tools/ have paths below it.
const module = "github.com/karpenterd/terraform-provider-karpenter"

// breach is one place where a rule is broken.
type breach struct {
	path string
	line int
	text string
}

// with returns the breach with the text.
func (b breach) with(format string, args ...any) breach {
	b.text = fmt.Sprintf(format, args...)
	return b
}

func (b breach) String() string { return fmt.Sprintf("%s:%d: %s", b.path, b.line, b.text) }

// goFile is a parsed Go file. Paths are slash-separated, from the top of the checkout.
type goFile struct {
	path      string
	dir       string
	test      bool
	generated bool
	lines     int
	syntax    *ast.File
	fset      *token.FileSet
}

func (f goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

func (f goFile) at(p token.Pos, format string, args ...any) breach {
	return breach{f.path, f.line(p), fmt.Sprintf(format, args...)}
}

// imports lists what the file imports with the position of each.
func (f goFile) imports() map[string]token.Pos {
	found := make(map[string]token.Pos, len(f.syntax.Imports))
	for _, spec := range f.syntax.Imports {
		found[strings.Trim(spec.Path.Value, `"`)] = spec.Pos()
	}
	return found
}

// textFile is any file of the checkout.
type textFile struct {
	path string
	text string
}

// tree is the checkout: every file, and the Go files parsed.
type tree struct {
	files []textFile
	gos   []goFile
}

// load reads the named files. A name that is gone (deleted and not yet
// committed) is passed over, and so is everything under a testdata folder of
// this package, whose purpose is to break the rules.
func load(fsys fs.FS, names []string) (tree, error) {
	var t tree
	for _, name := range names {
		if strings.HasPrefix(name, "internal/archtest/testdata/") {
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return tree{}, fmt.Errorf("source read: %w", err)
		}
		t.files = append(t.files, textFile{name, string(text)})
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return tree{}, fmt.Errorf("source parse: %w", err)
		}
		t.gos = append(t.gos, goFile{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
			lines: strings.Count(string(text), "\n"), syntax: syntax, fset: fset,
		})
	}
	return t, nil
}

// sorted puts breaches in the order of the files.
func sorted(all []breach) []breach {
	slices.SortFunc(all, func(a, b breach) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.text, b.text))
	})
	return all
}

// under reports whether dir is root or lies below it.
func under(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
