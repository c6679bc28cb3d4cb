package crdtest

import (
	"embed"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

//go:embed cases/*.yaml
var files embed.FS

// Case is an object, or a change of an object, that an API server accepts or refuses.
type Case struct {
	Name string `json:"name"`
	// With and Then are JSON merge patches (RFC 7386): With makes the object of the base,
	// and Then what an update makes of that.
	With map[string]any `json:"with,omitempty"`
	Then map[string]any `json:"then,omitempty"`
	// Refused is a part of the error. Without it the object is accepted.
	Refused string `json:"refused,omitempty"`
	// Differs says why the verdict of Karpenter's definition is the other one. Without it
	// the verdict is the same.
	Differs string `json:"differs,omitempty"`

	base map[string]any
}

// Cases reads the cases of a kind. A module of its own plays them against Karpenter's
// definitions, too.
func Cases(t *testing.T, kind string) []Case {
	t.Helper()
	var table struct {
		Base  map[string]any `json:"base"`
		Cases []Case         `json:"cases"`
	}
	text, err := files.ReadFile("cases/" + strings.ToLower(kind) + ".yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &table)
	}
	if err != nil || len(table.Cases) == 0 {
		t.Fatalf("read cases of %s: %v, %d cases", kind, err, len(table.Cases))
	}
	for i := range table.Cases {
		table.Cases[i].base = table.Base
	}
	return table.Cases
}

// Play gives the errors of the definition, and the paths that it prunes from the object.
func (c Case) Play(t *testing.T, d *Definition) (errs []Refusal, pruned []string) {
	t.Helper()
	object := merge(c.base, c.With)
	_, pruned, found := d.Create(t, document(t, object))
	if c.Then != nil {
		if len(found) > 0 {
			t.Errorf("%s: the object is refused before the update: %v", c.Name, found)
		}
		found = d.Update(t, document(t, object), document(t, merge(object, c.Then)))
	}
	for _, err := range found {
		errs = append(errs, Refusal{Field: err.Field, Detail: err.Detail, Text: err.Error()})
	}
	return errs, pruned
}

// Refusal is one error of a definition.
type Refusal struct{ Field, Detail, Text string }

func document(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// merge returns the target with the patch: objects are merged, null removes, and all else
// replaces.
func merge(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		before, wasObject := out[key].(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isObject && wasObject:
			out[key] = merge(before, inner)
		default:
			out[key] = value
		}
	}
	return out
}

// Run plays the cases of the definition's kind against it.
func Run(t *testing.T, d *Definition) {
	t.Helper()
	kind := d.CRD.Spec.Names.Kind
	for _, c := range Cases(t, kind) {
		t.Run(kind+"/"+c.Name, func(t *testing.T) {
			errs, pruned := c.Play(t, d)
			if len(pruned) > 0 {
				t.Errorf("pruned unseen: %v", pruned)
			}
			switch {
			case c.Refused == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs)
			case c.Refused != "" && !slices.ContainsFunc(errs, func(e Refusal) bool { return strings.Contains(e.Text, c.Refused) }):
				t.Errorf("errors %v, want one with %q", errs, c.Refused)
			}
		})
	}
}
