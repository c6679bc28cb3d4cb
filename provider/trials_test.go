package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// A trial sets an optional attribute, changes it and takes it away, one after the other, and
// holds that each step is an update or a replacement as it should be, and that the plan after
// it is empty. Every optional attribute of every resource has its trial, or a reason why it has
// none.

// trials are those of one resource.
type trials struct {
	kind  string
	h     *harness
	cloud *cloud // nil for what is in a cluster
	base  object // a good configuration without any of the attributes that are tried
	// values has two values for each attribute, by its path, such as access_entry.create. A
	// path leads into the first element of a list.
	values map[string][2]any
	// byType makes values of their types for attributes that values lacks.
	byType bool
	// beside is what a trial needs besides, by the beginning of the path.
	beside map[string]object
	// replaces are the attributes whose change replaces the resource.
	replaces []string
	// untried has the reason why an attribute has no trial, by the beginning of the path.
	untried map[string]string
	oneIn   int    // a run of the tests plays one in so many: see package share
	before  func() // what a controller does before each step; nil: there is none
	stays   bool   // what destroys it needs a cluster that works
}

// everywhere has the reasons that count for all resources.
func everywhere() map[string]string {
	return map[string]string{"timeouts": "bounds an operation, and is nothing of the object: see wait_test.go"}
}

func TestTrials_EveryOptionalAttributeComesChangesAndGoes(t *testing.T) {
	seen := map[string]bool{}
	for _, begin := range allTrials() {
		s := begin(t)
		seen[s.kind] = true
		t.Run(s.kind, func(t *testing.T) { s.run(t) })
	}
	for kind := range newHarness(t).schema.ResourceSchemas {
		if !seen[kind] {
			t.Errorf("%s has no trials", kind)
		}
	}
}

// run plays the trials in one state: each leaves it as it has found it.
func (s *trials) run(t *testing.T) {
	t.Helper()
	s.h.t = t
	i := s.h.resource(s.kind)
	wantNoError(t, i.apply(s.base))
	if s.before != nil {
		s.before()
	}
	i.settled(s.base)
	for _, path := range share.Of(s.kind, s.oneIn, s.all(t)) {
		t.Run(path.name, func(t *testing.T) {
			s.h.t = t
			s.try(t, i, path)
		})
	}
	s.h.t = t
	wantNoError(t, i.apply(s.base))
	if !s.stays {
		wantNoError(t, i.destroy())
	}
}

// tried is an attribute with its two values.
type tried struct {
	name   string
	values [2]any
}

// optional lists the attributes that are tried. It fails for each that has neither values nor
// a reason.
func (s *trials) optional(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute) []tried {
	t.Helper()
	var out []tried
	for _, a := range attributes {
		name := at + a.Name
		if why := reason(everywhere(), name) + reason(s.untried, name); why != "" {
			continue
		}
		if a.NestedType != nil {
			out = append(out, s.optional(t, name+".", a.NestedType.Attributes)...)
			continue
		}
		if !a.Optional {
			continue
		}
		values, has := s.values[name]
		if !has && s.byType {
			values, has = valuesOf(a.Type)
		}
		if !has && !slices.Contains(s.replaces, name) {
			t.Errorf("%s: %s has no values for its trial: add two to allTrials, or the reason why it cannot be tried", s.kind, name)
			continue
		}
		out = append(out, tried{name, values})
	}
	return out
}

// all are the attributes that are tried.
func (s *trials) all(t *testing.T) []tried {
	t.Helper()
	return s.optional(t, "", s.h.schema.ResourceSchemas[s.kind].Block.Attributes)
}

// reason is the reason for the path, or for what it is in.
func reason(of map[string]string, path string) string {
	for beginning, why := range of {
		if path == beginning || strings.HasPrefix(path, beginning+".") {
			return why
		}
	}
	return ""
}

// valuesOf are two values of a type.
func valuesOf(typ tftypes.Type) (values [2]any, ok bool) {
	switch {
	case typ.Is(tftypes.Bool):
		return [2]any{true, false}, true
	case typ.Is(tftypes.Number):
		return [2]any{1, 2}, true
	case typ.Is(tftypes.String):
		return [2]any{"a", "b"}, true
	case typ.Is(tftypes.Map{ElementType: tftypes.String}):
		return [2]any{object{"a": "1", "b": "1"}, object{"a": "2"}}, true
	case typ.Is(tftypes.List{ElementType: tftypes.String}), typ.Is(tftypes.Set{ElementType: tftypes.String}):
		return [2]any{list{"a", "b"}, list{"b"}}, true
	}
	return values, false
}

// try lets an attribute come, change and go.
func (s *trials) try(t *testing.T, i *instance, of tried) {
	t.Helper()
	base := s.baseOf(of)
	if slices.Contains(s.replaces, of.name) {
		wantNoError(t, i.apply(base))
		p := i.plan(setAt(base, of.name, of.values[0]))
		wantNoError(t, p.problems)
		if len(p.replace) == 0 || !strings.Contains(strings.Join(p.replace, " "), of.name) {
			t.Errorf("%s: a change of %s is no replacement: %v", s.kind, of.name, p.replace)
		}
		return
	}
	for step, value := range []any{nil, of.values[0], of.values[1], nil, of.values[1]} {
		config := setAt(base, of.name, value)
		if s.before != nil {
			s.before()
		}
		wantNoError(t, i.apply(config))
		i.settled(config)
		if t.Failed() {
			t.Fatalf("%s = %v, step %d of its trial", of.name, value, step+1)
		}
	}
}

// baseOf is the configuration with what the trial needs besides.
func (s *trials) baseOf(of tried) object {
	base := maps.Clone(s.base)
	for beginning, more := range s.beside {
		if of.name == beginning || strings.HasPrefix(of.name, beginning+".") {
			maps.Copy(base, more)
		}
	}
	return base
}

// setAt is the configuration with the value at the path; nil takes the attribute away.
func setAt(config object, path string, value any) object {
	out := maps.Clone(config)
	name, rest, nested := strings.Cut(path, ".")
	switch {
	case !nested && value == nil:
		delete(out, name)
	case !nested:
		out[name] = value
	default:
		switch inner := out[name].(type) {
		case list:
			changed := slices.Clone(inner)
			changed[0] = setAt(inner[0].(object), rest, value)
			out[name] = changed
		case object:
			out[name] = setAt(inner, rest, value)
		default:
			out[name] = setAt(object{}, rest, value)
		}
	}
	return out
}

func TestTrials_PathsLeadIntoObjectsAndLists(t *testing.T) {
	config := object{"a": object{"b": 1}, "l": list{object{"x": 1}, object{"x": 2}}}
	for path, want := range map[string]string{
		"a.b": "map[a:map[b:9] l:[map[x:1] map[x:2]]]",
		"l.x": "map[a:map[b:1] l:[map[x:9] map[x:2]]]",
		"n.m": "map[a:map[b:1] l:[map[x:1] map[x:2]] n:map[m:9]]",
	} {
		if got := fmt.Sprint(setAt(config, path, 9)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := fmt.Sprint(setAt(config, "a.b", nil)); got != "map[a:map[] l:[map[x:1] map[x:2]]]" {
		t.Errorf("got %s", got)
	}
}
