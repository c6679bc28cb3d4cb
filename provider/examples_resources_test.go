package provider_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const exampleFolder = "../examples/resources"

// The files that tfplugindocs makes a resource's page from, beside resource.tf and other
// resource*.tf.
const (
	importCommands   = "import.sh"
	importByID       = "import-by-string-id.tf"
	importByIdentity = "import-by-identity.tf"
)

// example is a file that shows a resource, and applies alone.
type example struct {
	name    string // of the file
	text    string
	imports []importBlock // of the resources that it declares
}

// importBlock is an import block of a file of its own.
type importBlock struct {
	file, text string
	to         string // address of the resource
	id         string // empty if the block has an identity
}

// exampleKinds are the folders of examples, which have the names of resources.
func exampleKinds(t *testing.T) []string {
	t.Helper()
	found, err := os.ReadDir(exampleFolder)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, entry := range found {
		kinds = append(kinds, entry.Name())
	}
	return kinds
}

// examplesOf reads the examples of a resource, each with the imports of what it declares.
func examplesOf(t *testing.T, kind string) []example {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(exampleFolder, kind, "resource*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	imports := append(importsOf(t, kind, importByID), importsOf(t, kind, importByIdentity)...)
	var all []example
	for _, file := range files {
		e := example{name: filepath.Base(file)}
		var declared []string
		for _, block := range blocksOf(t, file, &e.text) {
			if block.Type == "resource" {
				declared = append(declared, strings.Join(block.Labels, "."))
			}
		}
		for _, i := range imports {
			if slices.Contains(declared, i.to) {
				e.imports = append(e.imports, i)
			}
		}
		all = append(all, e)
	}
	return all
}

// blocksOf reads the blocks of a file, and its text.
func blocksOf(t *testing.T, file string, text *string) []*hclsyntax.Block {
	t.Helper()
	parsed, diags := hclparse.NewParser().ParseHCLFile(file)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	*text = string(parsed.Bytes)
	return parsed.Body.(*hclsyntax.Body).Blocks
}

// importsOf reads the import blocks of a file, of which a resource may have none.
func importsOf(t *testing.T, kind, name string) []importBlock {
	t.Helper()
	var all []importBlock
	var text string
	for _, block := range blocksOf(t, filepath.Join(exampleFolder, kind, name), &text) {
		if block.Type != "import" {
			t.Errorf("%s/%s: a block %s; the file is for import blocks, and resources are declared in resource*.tf", kind, name, block.Type)
			continue
		}
		i := importBlock{file: name, text: text[block.Range().Start.Byte:block.CloseBraceRange.End.Byte]}
		to, ok := block.Body.Attributes["to"]
		if !ok {
			t.Errorf("%s/%s: an import block without to", kind, name)
			continue
		}
		i.to = text[to.Expr.Range().Start.Byte:to.Expr.Range().End.Byte]
		if id, ok := block.Body.Attributes["id"]; ok {
			value, diags := id.Expr.Value(nil)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			i.id = value.AsString()
		}
		if (name == importByID) != (i.id != "") {
			t.Errorf("%s/%s: the import of %s is not of the kind that the file is for", kind, name, i.to)
		}
		all = append(all, i)
	}
	return all
}

// TestExamples_EveryResourceHasOneAndItsImports looks at the files. That they apply is tested
// in a laboratory.
func TestExamples_EveryResourceHasOneAndItsImports(t *testing.T) {
	kinds := exampleKinds(t)
	if resources := slices.Sorted(maps.Keys(newHarness(t).schema.ResourceSchemas)); !slices.Equal(resources, kinds) {
		t.Errorf("the provider has the resources %v, and %s has folders for %v", resources, exampleFolder, kinds)
	}
	shown := regexp.MustCompile(`^(resource(_\w+)?\.tf|` + regexp.QuoteMeta(importCommands) + "|" + regexp.QuoteMeta(importByID) + "|" + regexp.QuoteMeta(importByIdentity) + `)$`)
	for _, kind := range kinds {
		files, err := os.ReadDir(filepath.Join(exampleFolder, kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !shown.MatchString(file.Name()) {
				t.Errorf("%s/%s: the page of the resource does not show a file of that name, and no test runs it", kind, file.Name())
			}
		}
		byName := map[string][]string{}
		var addresses []string
		for _, e := range examplesOf(t, kind) {
			for _, i := range e.imports {
				byName[i.file] = append(byName[i.file], i.to)
			}
			addresses = append(addresses, e.name)
		}
		if !slices.Contains(addresses, "resource.tf") {
			t.Errorf("%s has no resource.tf", kind)
		}
		for _, name := range []string{importByID, importByIdentity} {
			all := importsOf(t, kind, name)
			if len(all) == 0 || len(all) != len(byName[name]) {
				t.Errorf("%s/%s: imports of %v are of resources that a resource*.tf of the folder declares; want one at least, and all %d", kind, name, byName[name], len(all))
			}
		}
		commandsAreTheImports(t, kind)
	}
}

// commandsAreTheImports fails unless import.sh has the imports of the blocks.
func commandsAreTheImports(t *testing.T, kind string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(exampleFolder, kind, importCommands))
	if err != nil {
		t.Fatal(err)
	}
	var commands, blocks []string
	for _, line := range strings.Split(string(text), "\n") {
		if command, ok := strings.CutPrefix(line, "terraform import "); ok {
			commands = append(commands, command)
		}
	}
	for _, i := range importsOf(t, kind, importByID) {
		blocks = append(blocks, i.to+" "+i.id)
	}
	if !slices.Equal(commands, blocks) {
		t.Errorf("%s: %s imports %q, and %s %q", kind, importCommands, commands, importByID, blocks)
	}
}
