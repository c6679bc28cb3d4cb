package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// A walk behind the back: it makes a resource with all attributes, and finds the real objects
// that exist then. Somebody deletes each of them, and changes each field of each, one by one.
// The plan after that has something to do, the apply makes the object as it was, the next plan
// is empty, and no other object is touched. What is left alone or cannot be changed is in a
// list, with the reason.

// world is where real objects are: somebody looks at them and changes them there.
type world struct {
	look      func() map[string]wire.Thing // as tests compare it
	raw       func() map[string]wire.Thing // as it is
	overwrite func(key, content string) error
	// refused tells whether an error of overwrite says that the service does not accept the content.
	refused  func(error) bool
	remove   func(key string) error
	snapshot func() (restore func())
	// texts are what a text may become besides what any text may become; additions what a map or
	// list at the path may get.
	texts     func(path, text string) []string
	additions func(path string) []any
	// declared tells whether a field is of the provider. What happens to others is not said, but
	// all comes to rest; nil: all fields are.
	declared func(key, path string) bool
	// along tells whether the object is made anew, too, after the other one was deleted; nil: none is.
	along func(deleted, key string) bool
	// most is how many changes of an object are played at most: of a definition, whose thousands of
	// fields are one to the provider. 0: all.
	most func(key string) int
}

// exception is what is not mended.
type exception struct {
	key, path string // what they begin with; the path also has an asterisk for any name
	how       string // "": however it is changed
	end       end
	says      string // of an error: a part of it
	why       string
}

// end is what comes of a change that is not mended.
type end string

const (
	fixed   end = "nobody can change it"
	left    end = "it stays, and the plan is empty"
	refused end = "an error says what to do"
	taken   end = "the apply takes it as it is"
	beside  end = "a warning names it, and what is declared comes back beside it"
)

// meddling is one change behind the back.
type meddling struct {
	key, path, how string
	contents       []string // the first that the service accepts is taken; none: the object is deleted
	was            string   // the content of the object
	field          string   // what the field was; "": the object is deleted
}

func (m meddling) name() string { return strings.TrimSpace(m.key + " " + m.path + " " + m.how) }

// behind is the walk of one resource with one configuration.
type behind struct {
	kind       string
	i          *instance
	config     object
	base       object // the resource can be destroyed with it
	world      world
	exceptions []exception
	used       map[int]bool
	// played are the changes that a run of all cases has played with an earlier configuration, by
	// name and what the field was.
	played map[string]bool
	target map[string]wire.Thing
}

// walk plays some of the changes of each object, and notes which exceptions there is a use for.
func (b *behind) walk(t *testing.T, some int) {
	t.Helper()
	before := b.world.raw()
	if b.world.snapshot != nil {
		restore := b.world.snapshot()
		defer restore()
	}
	wantNoError(t, b.i.apply(b.config))
	b.i.settled(b.config)
	b.target = b.world.look()
	again := func() {}
	if b.world.snapshot != nil {
		restore, begun := b.world.snapshot(), *b.i
		again = func() { restore(); *b.i = begun }
	}
	for _, of := range b.all(t, before) {
		for _, m := range b.few(share.Of(t.Name()+of[0].key, max(1, len(of)/some), of)) {
			whole := t.Run(strings.ReplaceAll(m.name(), "/", ":"), func(t *testing.T) {
				again()
				b.i.h.t = t
				b.play(t, m)
			})
			if !whole && b.world.snapshot == nil {
				t.Fatal("what comes after it would begin with what it has left")
			}
		}
	}
	again()
	b.i.h.t = t
	wantNoError(t, b.i.apply(b.base))
	wantNoError(t, b.i.destroy())
}

// few leaves out what an earlier configuration has played, and what is too much of one object.
func (b *behind) few(of []meddling) []meddling {
	out := slices.DeleteFunc(slices.Clone(of), func(m meddling) bool {
		again := m.field != "" && b.played[m.name()+m.field]
		if share.Whole() && b.played != nil {
			b.played[m.name()+m.field] = true
		}
		return again
	})
	if b.world.most == nil || len(out) == 0 {
		return out
	}
	most := b.world.most(out[0].key)
	if most == 0 || len(out) <= most {
		return out
	}
	var spread []meddling
	for i := range most {
		spread = append(spread, out[i*len(out)/most])
	}
	return spread
}

// all are the changes of all objects that the resource has made, by object.
func (b *behind) all(t *testing.T, before map[string]wire.Thing) [][]meddling {
	t.Helper()
	var out [][]meddling
	now := b.world.raw()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, theirs := before[key]; theirs {
			continue
		}
		of := b.only(meddling{key: key, how: "deleted"})
		for _, m := range b.fields(key, now[key].Content) {
			of = append(of, b.only(m)...)
		}
		if len(of) > 0 {
			out = append(out, of)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has made nothing that somebody could change", b.kind)
	}
	return out
}

// only is the change, unless nobody can make it.
func (b *behind) only(m meddling) []meddling {
	if e := b.exception(m); e != nil && e.end == fixed {
		return nil
	}
	return []meddling{m}
}

// exception is the one for the change; nil: it is mended, as all that was deleted is.
func (b *behind) exception(m meddling) *exception {
	for n, e := range b.exceptions {
		if len(m.contents) > 0 && strings.HasPrefix(m.key, e.key) && pathBegins(m.path, e.path) && (e.how == "" || e.how == m.how) {
			b.used[n] = true
			return &b.exceptions[n]
		}
	}
	return nil
}

// pathBegins tells whether the path is at or below the other one.
func pathBegins(path, with string) bool {
	have, want := strings.Split(path, " "), strings.Split(with, " ")
	if with == "" {
		return true
	}
	if len(have) < len(want) {
		return false
	}
	for i, name := range want {
		if name != "*" && name != have[i] {
			return false
		}
	}
	return true
}

// fields are the changes of each field of an object.
func (b *behind) fields(key, content string) []meddling {
	var fields map[string]any
	if json.Unmarshal([]byte(content), &fields) != nil {
		return []meddling{{key: key, how: "changed", contents: []string{content + "-other"}, was: content, field: content}}
	}
	var out []meddling
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.each(name, fields[name], func(path, how string, values ...any) {
			m := meddling{key: key, path: path, how: how, was: content, field: wire.Text(valueAt(fields, strings.Split(path, " ")))}
			for _, value := range values {
				changed := maps.Clone(fields)
				changed[name] = value
				m.contents = append(m.contents, wire.Text(changed))
			}
			out = append(out, m)
		})
	}
	return out
}

// valueAt follows the names and numbers of the path.
func valueAt(value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		return valueAt(value[path[0]], path[1:])
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil && n < len(value) {
			return valueAt(value[n], path[1:])
		}
	}
	return nil
}

// each calls do for each change of a value, with what may be in its place. The path has the
// names that lead to it.
func (b *behind) each(path string, value any, do func(path, how string, values ...any)) {
	switch value := value.(type) {
	case bool:
		do(path, "changed", !value)
	case float64:
		do(path, "changed", value+7, value+1, value-1, 3600.0)
	case string:
		texts := b.textsFor(path, value)
		for _, how := range slices.Sorted(maps.Keys(texts)) {
			do(path, how, texts[how]...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if less := maps.Clone(value); !isEmpty(value[name]) {
				delete(less, name)
				do(path+" "+name, "removed", less)
			}
			b.each(path+" "+name, value[name], func(at, how string, values ...any) {
				do(at, how, within(values, func(inner any) any {
					changed := maps.Clone(value)
					changed[name] = inner
					return changed
				})...)
			})
		}
		for _, added := range b.world.additions(path) {
			more := maps.Clone(value)
			more["somebodys"] = added
			do(path+" somebodys", "added", more)
		}
	case []any:
		for i, inner := range value {
			at := path + " " + strconv.Itoa(i)
			do(at, "removed", slices.Delete(slices.Clone(value), i, i+1))
			if _, isText := inner.(string); isText {
				continue
			}
			b.each(at, inner, func(at, how string, values ...any) {
				do(at, how, within(values, func(other any) any {
					changed := slices.Clone(value)
					changed[i] = other
					return changed
				})...)
			})
		}
		for _, added := range b.world.additions(path) {
			do(path+" somebodys", "added", append(slices.Clone(value), added))
		}
	}
}

// within gives what has each of the values in it.
func within(values []any, put func(any) any) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = put(value)
	}
	return all
}

// isEmpty tells whether there is nothing in the value.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return false
}

// textsFor are what a text may become, by how it is changed.
func (b *behind) textsFor(path, text string) map[string][]any {
	var document map[string]any
	if json.Unmarshal([]byte(text), &document) == nil {
		statements, isPolicy := document["Statement"].([]any)
		if !isPolicy {
			return map[string][]any{"changed": {`{"source":["aws.ec2"]}`}}
		}
		more, less := maps.Clone(document), maps.Clone(document)
		statement, _ := statements[0].(map[string]any)
		added := maps.Clone(statement)
		added["Sid"] = "Somebodys"
		more["Statement"] = append(slices.Clone(statements), added)
		out := map[string][]any{"more": {wire.Text(more)}}
		if less["Statement"] = statements[1:]; len(statements) > 1 {
			out["less"] = []any{wire.Text(less)}
		}
		return out
	}
	var all []any
	for _, other := range b.world.texts(path, text) {
		all = append(all, other)
	}
	if n, err := strconv.Atoi(text); err == nil {
		all = append(all, strconv.Itoa(n+1), strconv.Itoa(n-1))
	}
	if yes, err := strconv.ParseBool(text); err == nil {
		all = append(all, strconv.FormatBool(!yes))
	}
	out := map[string][]any{"changed": append(all, text+"-other")}
	if text != "" {
		out["emptied"] = []any{""}
	}
	return out
}

// meddle makes the change. made is false if the service does not accept it.
func (b *behind) meddle(m meddling) (made bool, err error) {
	if len(m.contents) == 0 {
		return true, b.world.remove(m.key)
	}
	for _, content := range m.contents {
		if err = b.world.overwrite(m.key, content); err == nil || !b.world.refused(err) {
			return true, err
		}
	}
	return false, err
}

// fresh is the change of what the object is now. In a world that does not go back, an object may
// have changed with another one: pods begin anew with another service account.
func (b *behind) fresh(m meddling) meddling {
	if b.world.snapshot != nil || len(m.contents) == 0 {
		return m
	}
	for _, now := range b.fields(m.key, b.world.raw()[m.key].Content) {
		if now.path == m.path && now.how == m.how {
			return now
		}
	}
	return m
}

// play makes one change, and goes on as Terraform does.
func (b *behind) play(t *testing.T, m meddling) {
	t.Helper()
	m = b.fresh(m)
	made, err := b.meddle(m)
	if !made {
		t.Logf("nobody can make the change: %v", err)
		return
	}
	must(t, err)
	meddled := b.world.look()
	said := b.i.read()
	wantNoError(t, said)
	p := b.i.plan(b.config)
	e := b.exception(m)
	if e != nil && e.end == refused {
		b.refused(t, p, m, e, meddled)
		return
	}
	wantNoError(t, p.problems)
	diffs := b.changes(t, p)
	changed := len(diffs) > 0
	theirs := e == nil && len(m.contents) > 0 && b.world.declared != nil && !b.world.declared(m.key, m.path)
	switch {
	case e != nil && e.end == left:
		if changed {
			t.Errorf("the plan is not empty, though %s: %v", e.why, diffs)
		}
		wantSame(t, meddled, b.world.look())
		b.undo(t, m)
		return
	case theirs && !changed:
		b.undo(t, m)
		return
	case !changed:
		t.Fatal("the plan does not show it")
	}
	wantNoError(t, b.i.apply(b.config))
	b.i.settled(b.config)
	switch {
	case theirs:
		b.undo(t, m)
	case e != nil && e.end == taken:
		wantSame(t, meddled, b.world.look())
	case e != nil && e.end == beside:
		wantWarning(t, said, e.says)
		b.undo(t, m)
		wantSame(t, b.target, b.world.look())
	default:
		b.mended(t, m)
	}
}

// changes are what the plan does.
func (b *behind) changes(t *testing.T, p plan) []tftypes.ValueDiff {
	t.Helper()
	if b.i.state.IsNull() {
		return []tftypes.ValueDiff{{}} // everything
	}
	diffs, err := b.i.state.Diff(p.value)
	must(t, err)
	return diffs
}

// refused fails unless the plan or the apply ends with the error, and changes nothing.
func (b *behind) refused(t *testing.T, p plan, m meddling, e *exception, meddled map[string]wire.Thing) {
	t.Helper()
	wantSame(t, meddled, b.world.look())
	problems := p.problems
	if !hasError(problems) {
		problems = b.i.apply(b.config)
	}
	wantError(t, problems, e.says)
	if b.world.snapshot == nil {
		// Taken back by hand, the field would be somebody else's, too, and stay at the next change.
		must(t, b.world.remove(m.key))
		wantNoError(t, b.i.read())
		wantNoError(t, b.i.apply(b.config))
		b.goOn()
	}
}

// undo takes the change back in a world that does not go back.
func (b *behind) undo(t *testing.T, m meddling) {
	t.Helper()
	if b.world.snapshot == nil {
		must(t, b.world.overwrite(m.key, m.was))
	}
}

// mended fails unless all is as it was, and nothing was made anew but what was deleted.
func (b *behind) mended(t *testing.T, m meddling) {
	t.Helper()
	now := b.world.look()
	wantSame(t, b.target, now)
	for key, thing := range b.target {
		deleted := len(m.contents) == 0 && (key == m.key || b.world.along != nil && b.world.along(m.key, key))
		if !deleted && thing.Identity != now[key].Identity {
			t.Errorf("%s was made anew", key)
		}
	}
	b.goOn()
}

// goOn takes what is there now for what the next change is compared with, in a world that does
// not go back.
func (b *behind) goOn() {
	if b.world.snapshot == nil {
		b.target = b.world.look()
	}
}

func wantSame(t *testing.T, want, now map[string]wire.Thing) {
	t.Helper()
	if d := differs(want, now); d != "" {
		t.Errorf("it is not as it was: %s", d)
	}
}

// fulls are good configurations that together have every attribute of the trials with each of
// its values, as many as fit in each.
func (s *trials) fulls(t *testing.T) []object {
	t.Helper()
	out := []object{s.base}
	all := s.all(t)
	for n := range 2 {
		left := slices.DeleteFunc(slices.Clone(all), func(of tried) bool { return of.values[n] == nil || slices.Contains(s.replaces, of.name) })
		for len(left) > 0 {
			config := s.base
			var later []tried
			for _, of := range left {
				next := setAt(s.atOnce(config, of), of.name, of.values[n])
				if s.objection(next) == "" {
					config = next
				} else {
					later = append(later, of)
				}
			}
			if len(later) == len(left) && s.byType {
				break // a value that is made of a type alone may be a bad one
			}
			if len(later) == len(left) {
				t.Errorf("%s: no good configuration has %s = %v: %s", s.kind, left[0].name, left[0].values[n], s.objection(setAt(s.atOnce(s.base, left[0]), left[0].name, left[0].values[n])))
				break
			}
			out, left = append(out, config), later
		}
	}
	return out
}

// atOnce is the configuration with what the trial needs besides, where no trial has changed it.
func (s *trials) atOnce(config object, of tried) object {
	out := maps.Clone(config)
	for beginning, more := range s.beside {
		if of.name == beginning || strings.HasPrefix(of.name, beginning+".") {
			for name, value := range more {
				if fmt.Sprint(out[name]) == fmt.Sprint(s.base[name]) {
					out[name] = value
				}
			}
		}
	}
	return out
}

// objection is what the plan says against the configuration.
func (s *trials) objection(config object) string {
	for _, d := range append(s.h.validate(s.kind, config), s.h.resource(s.kind).plan(config).problems...) {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return d.Summary + ": " + d.Detail
		}
	}
	return ""
}
