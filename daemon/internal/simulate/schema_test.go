package simulate

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	generate "github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"
)

// fromTypes is the schema of the Report, with the comments of its types as descriptions.
func fromTypes(t *testing.T) string {
	t.Helper()
	r := generate.Reflector{Anonymous: true, ExpandedStruct: true}
	report := reflect.TypeFor[Report]()
	if err := r.AddGoComments(report.PkgPath(), ".", generate.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	for key, text := range r.CommentMap {
		r.CommentMap[key] = strings.ReplaceAll(text, "\n", " ")
	}
	s := r.ReflectFromType(report)
	s.Title = "A simulation of karpenterd"
	property(t, s, "schema").Const = Schema
	property(t, s, "nodes").Enum = []any{OwnedNodes, AllNodes}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func property(t *testing.T, s *generate.Schema, name string) *generate.Schema {
	t.Helper()
	p, there := s.Properties.Get(name)
	if !there {
		t.Fatalf("the schema has no property %s", name)
	}
	return p
}

func TestSchema_IsMadeFromTheTypes(t *testing.T) {
	t.Parallel()
	want := fromTypes(t)
	if *update {
		if err := os.WriteFile("schema.json", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return // what is compiled in is the one before
	}
	if JSONSchema() != want {
		t.Errorf("schema.json is not that of the types: run with -update\n%s", want)
	}
}

// valid reads the JSON by the schema that users get.
func valid(t *testing.T, text []byte) error {
	t.Helper()
	schema, err := validate.UnmarshalJSON(strings.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := validate.NewCompiler()
	c.DefaultDraft(validate.Draft7) // unless the schema names its own
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Errorf("the schema is one of draft %d", s.DraftVersion)
	}
	value, err := validate.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

func TestSchema_DescribesTheReports(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/groups.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := valid(t, golden); err != nil {
		t.Errorf("testdata/groups.json: %v", err)
	}
	var b bytes.Buffer
	if err := full(t).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := valid(t, b.Bytes()); err != nil {
		t.Errorf("a report that has everything: %v\n%s", err, b.String())
	}
}

// full is a report in which every field has a value.
func full(t *testing.T) *Report {
	t.Helper()
	r := &Report{}
	fill(t, reflect.ValueOf(r).Elem())
	r.Schema, r.Nodes = Schema, AllNodes
	return r
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if at, is := v.Addr().Interface().(*time.Time); is {
		*at = seen().Time
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		t.Fatalf("a report has a %s: say how it is filled", v.Kind())
	}
}

func TestSchema_RefusesWhatNoReportHas(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(report map[string]any){
		"a field of no name":    func(r map[string]any) { r["further"] = 1 },
		"a field deep inside":   func(r map[string]any) { r["now"].(map[string]any)["further"] = 1 },
		"a missing field":       func(r map[string]any) { delete(r, "then") },
		"another form":          func(r map[string]any) { r["schema"] = "karpenterd.sh/simulation/v2" },
		"nodes of no choice":    func(r map[string]any) { r["nodes"] = "some" },
		"a text for a number":   func(r map[string]any) { r["seconds"] = "1" },
		"a part of a node":      func(r map[string]any) { r["now"].(map[string]any)["nodes"] = 1.5 },
		"a text for a list":     func(r map[string]any) { r["notes"] = "x" },
		"a field of the second": func(r map[string]any) { r["with"].(map[string]any)["region"] = "us-east-1" },
	} {
		var b bytes.Buffer
		if err := full(t).WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var report map[string]any
		if err := json.Unmarshal(b.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, text); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// Programs read the report by this alone.
func TestSchema_SaysWhatEachFieldIs(t *testing.T) {
	t.Parallel()
	type object struct {
		Properties map[string]struct{ Description string }
	}
	var s struct {
		object

		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(JSONSchema()), &s); err != nil {
		t.Fatal(err)
	}
	s.Defs["Report"] = s.object
	var silent []string
	for def, x := range s.Defs {
		if len(x.Properties) == 0 {
			t.Errorf("%s has no fields", def)
		}
		for name, p := range x.Properties {
			if p.Description == "" {
				silent = append(silent, def+"."+name)
			}
		}
	}
	slices.Sort(silent)
	if len(silent) > 0 {
		t.Errorf("without a description: %s", strings.Join(silent, ", "))
	}
}
