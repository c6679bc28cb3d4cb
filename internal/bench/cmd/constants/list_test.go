package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConstants_AreInTheEngineAndHaveOtherValues(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(constants(), moveConstants()) {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", "..", c.file))
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		for _, other := range c.others {
			changed, before, err := c.set(source, other)
			if err != nil {
				t.Error(err)
			} else if before == other || bytes.Equal(changed, source) {
				t.Errorf("%s is %s already", c, other)
			}
		}
	}
}

// Every number of the rooms that decide when nodes go is in the table, or is not chosen.
func TestConstants_NoChosenNumberOfMovesIsLeftOut(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, c := range moveConstants() {
		listed[c.file+" "+c.name] = true
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "engine", "moves", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			group, is := d.(*ast.GenDecl)
			if !is || group.Tok != token.CONST {
				continue
			}
			for _, s := range group.Specs {
				spec, is := s.(*ast.ValueSpec)
				if !is || len(spec.Values) == 0 {
					continue
				}
				if _, is := spec.Values[0].(*ast.Ident); is { // a stage
					continue
				}
				if name := "internal/engine/moves/" + filepath.Base(file) + " " + spec.Names[0].Name; !listed[name] {
					t.Errorf("%s is not in moveConstants", name)
				}
			}
		}
	}
}
