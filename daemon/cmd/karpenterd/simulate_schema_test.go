package main

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What --schema prints describes what -o json prints.
func TestSimulate_SchemaDescribesTheReport(t *testing.T) {
	t.Parallel()
	code, text, said := start(t, "karpenterd", "simulate", "--schema")
	if code != exitDone || said != "" {
		t.Fatalf("code %d: %s", code, said)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"simulate"},
		{"simulate", "--from", "scratch"},
		{"report"},
		{"simulate", "--with", dumpOfTheGuide, "--nodes", "owned"},
	} {
		code, out, said := start(t, append(append([]string{"karpenterd"}, args...), "-f", dumpOfTheGuide, "-o", "json")...)
		if code != exitDone {
			t.Fatalf("%v: code %d: %s", args, code, said)
		}
		report, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if err := schema.Validate(report); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}
