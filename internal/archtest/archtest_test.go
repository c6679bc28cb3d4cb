package archtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// rules names each rule as its test and its folder of examples are named.
var rules = map[string]func(tree) []breach{
	"Layers":          checkLayers,
	"Purity":          checkPurity,
	"Sequential":      checkSequential,
	"Floats":          checkFloats,
	"PackageComments": checkPackageComments,
	"Lengths":         checkLengths,
	"Provider":        checkProvider,
	"Stages":          checkStages,
	"Types":           checkTypes,
	"Constants":       checkConstants,
	"Coined":          checkCoined,
	"Texts":           checkTexts,
	"Reasons":         checkReasons,
	"Decisions":       checkDecisions,
	"Paths":           checkPaths,
	"Pointers":        checkPointers,
	"Folders":         checkFolders,
}

// TestCheckout_KeepsTheRules is the one that fails when the architecture is
// broken. The message says which line, and ARCHITECTURE.md says why.
func TestCheckout_KeepsTheRules(t *testing.T) {
	top := filepath.Join("..", "..")
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the rules look at the files that git knows: git ls-files: %v", err)
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	source, err := load(os.DirFS(top), names)
	if err != nil {
		t.Fatal(err)
	}
	if len(source.gos) < 10 {
		t.Fatalf("%d Go files found, want the whole checkout", len(source.gos))
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Run(name, func(t *testing.T) {
			for _, b := range rules[name](source) {
				t.Error(b)
			}
		})
	}
}

// TestRules_FindBreaches runs each rule on small trees that break it. An
// example is an archive: its comment says what it is about and then, after a
// line with ---, lists the breaches exactly; $ in a file stands for nothing, so
// that a forbidden word can be written here without being one.
func TestRules_FindBreaches(t *testing.T) {
	for name, rule := range rules {
		examples, err := filepath.Glob(filepath.Join("testdata", strings.ToLower(name), "*.txtar"))
		if err != nil || len(examples) == 0 {
			t.Errorf("rule %s has no example that breaks it (%v)", name, err)
		}
		for _, path := range examples {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				archive, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				_, want, ok := strings.Cut(string(archive.Comment), "---\n")
				if !ok {
					t.Fatal("no --- line in the comment")
				}
				fsys := fstest.MapFS{}
				names := make([]string, 0, len(archive.Files))
				for _, f := range archive.Files {
					fsys[f.Name] = &fstest.MapFile{Data: expand(string(f.Data))}
					names = append(names, f.Name)
				}
				source, err := load(fsys, names)
				if err != nil {
					t.Fatal(err)
				}
				var got strings.Builder
				for _, b := range rule(source) {
					_, _ = fmt.Fprintln(&got, b)
				}
				want = string(expand(want))
				if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
					t.Errorf("breaches:\n%s\nwant:\n%s", got.String(), want)
				}
			})
		}
	}
}

// expand drops the $ that hide words from the rules, and writes out %N lines.
func expand(text string) []byte {
	text = strings.ReplaceAll(text, "$", "")
	for _, n := range []int{59, 61, 610} {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d\n", n), strings.Repeat("\t_ = 0\n", n))
	}
	return []byte(text)
}

func TestLoad_SyntaxErrorNamesTheFile(t *testing.T) {
	_, err := load(fstest.MapFS{"a.go": &fstest.MapFile{Data: []byte("package")}}, []string{"a.go", "gone.go"})
	if err == nil || !strings.Contains(err.Error(), "a.go:1") {
		t.Errorf("err = %v, want one that names a.go", err)
	}
}
