package provider_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

var update = flag.Bool("update", false, "write testdata/schema.txt")

// TestSchema_ChangesAreDeliberate compares the schema with the recorded schema. An
// attribute that is removed, renamed or newly required breaks configurations and
// states: choose the release's version for this, then run with -update.
func TestSchema_ChangesAreDeliberate(t *testing.T) {
	h := newHarness(t)
	var out strings.Builder
	describe(&out, "provider", h.schema.Provider)
	for _, name := range slices.Sorted(maps.Keys(h.schema.ResourceSchemas)) {
		describe(&out, name, h.schema.ResourceSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(h.schema.DataSourceSchemas)) {
		describe(&out, "data "+name, h.schema.DataSourceSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(h.schema.Functions)) {
		describeFunction(&out, name, h.schema.Functions[name])
	}
	const file = "testdata/schema.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lines(out.String()), lines(string(recorded)); !slices.Equal(got, want) {
		t.Errorf("the schema changed; -update records it.\nnew: %q\ngone: %q", without(got, want), without(want, got))
	}
}

func TestSchema_EveryAttributeIsDescribed(t *testing.T) {
	h := newHarness(t)
	var check func(at string, attributes []*tfprotov6.SchemaAttribute)
	check = func(at string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			if a.Description == "" && a.Name != "timeouts" {
				t.Errorf("%s.%s has no description", at, a.Name)
			}
			if a.NestedType != nil {
				check(at+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	check("provider", h.schema.Provider.Block.Attributes)
	for name, schema := range h.schema.ResourceSchemas {
		check(name, schema.Block.Attributes)
	}
	for name, schema := range h.schema.DataSourceSchemas {
		check("data "+name, schema.Block.Attributes)
	}
}

func describe(out *strings.Builder, name string, schema *tfprotov6.Schema) {
	fmt.Fprintf(out, "%s version %d\n", name, schema.Version)
	describeAttributes(out, name, schema.Block.Attributes)
}

// describeFunction writes a line for a function: its parameters and what it returns.
func describeFunction(out *strings.Builder, name string, f *tfprotov6.Function) {
	fmt.Fprintf(out, "function %s", name)
	for _, p := range f.Parameters {
		fmt.Fprintf(out, " %s:%s", p.Name, strings.ReplaceAll(p.Type.String(), "tftypes.", ""))
	}
	fmt.Fprintf(out, " returns %s\n", strings.ReplaceAll(f.Return.Type.String(), "tftypes.", ""))
}

// describeAttributes writes a line for each attribute: path, how it is set, type.
func describeAttributes(out *strings.Builder, at string, attributes []*tfprotov6.SchemaAttribute) {
	for _, a := range attributes {
		line := at + "." + a.Name
		for _, word := range []struct {
			is   bool
			text string
		}{{a.Required, "required"}, {a.Optional, "optional"}, {a.Computed, "computed"}, {a.Sensitive, "sensitive"}} {
			if word.is {
				line += " " + word.text
			}
		}
		if a.NestedType == nil {
			fmt.Fprintf(out, "%s %s\n", line, strings.ReplaceAll(a.Type.String(), "tftypes.", ""))
			continue
		}
		fmt.Fprintf(out, "%s nested %s\n", line, a.NestedType.Nesting)
		describeAttributes(out, at+"."+a.Name, a.NestedType.Attributes)
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
