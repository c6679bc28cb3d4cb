package legacy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is something that the user has to know or to correct.
type Problem struct {
	Source string // the file, if there is one
	Object string // such as `Provisioner "default"`
	Field  string // path of the field, if one field is the matter
	What   string // what is wrong, or what changes
	Remedy string
	Lost   bool // the object asks for it, and nothing does it
}

// String is one sentence: object, field, what, remedy.
func (p Problem) String() string {
	var parts []string
	for _, part := range []string{p.Source, p.Object, p.Field, p.What} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if p.Remedy != "" {
		text += "; " + p.Remedy
	}
	return text
}

// subject is what a problem is about.
type subject struct{ source, object string }

func subjectOf(source, kind, name string) subject {
	return subject{source: source, object: fmt.Sprintf("%s %q", kind, name)}
}

// report collects problems.
type report struct {
	warnings, errors []Problem
	left             []Problem       // templates that another program renders
	skipped          []document      // what is not of Karpenter
	sources          map[string]bool // that have an object or a setting of Karpenter
}

// took notes that a document has an object or a setting of Karpenter, and warns of keys that the
// document has twice.
func (r *report) took(d document) {
	if r.sources == nil {
		r.sources = map[string]bool{}
	}
	r.sources[d.source] = true
	if d.twice != nil && !d.twice.said {
		d.twice.said = true
		r.doubles(d.twice.subject, "", d.twice.keys)
	}
}

// doubles warns of keys that are there twice.
func (r *report) doubles(s subject, field, keys string) {
	r.warn(s, field, "the last one counts of keys that are there twice: "+keys, "remove the others")
}

// skip notes a document that is not of Karpenter.
func (r *report) skip(d document) { r.skipped = append(r.skipped, d) }

// others says once for each source what of it is left out.
func (r *report) others(sources []Source) []string {
	slices.SortStableFunc(r.skipped, func(a, b document) int { return cmp.Compare(a.number, b.number) })
	left := map[string][]document{}
	for _, d := range r.skipped {
		left[d.source] = append(left[d.source], d)
	}
	var all []string
	for _, s := range sources {
		name := cmp.Or(s.Name, "the input")
		switch skipped := left[s.Name]; {
		case !r.sources[s.Name] && strings.TrimSpace(s.Text) == "":
			all = append(all, name+" is empty")
		case !r.sources[s.Name]:
			all = append(all, name+" has no object of Karpenter")
		case len(skipped) == 1:
			all = append(all, name+": "+skipped[0].subject().object+" is not of Karpenter")
		case len(skipped) > 1:
			all = append(all, fmt.Sprintf("%s: %s and %d more are not of Karpenter", name, skipped[0].subject().object, len(skipped)-1))
		}
	}
	return all
}

func (r *report) warn(s subject, field, what, remedy string) {
	r.warnings = append(r.warnings, Problem{Source: s.source, Object: s.object, Field: field, What: what, Remedy: remedy})
}

// lose warns of what the object asks for and nothing does.
func (r *report) lose(s subject, field, what, remedy string) {
	r.warn(s, field, what, remedy)
	r.warnings[len(r.warnings)-1].Lost = true
}

func (r *report) fail(s subject, field, what, remedy string) {
	r.errors = append(r.errors, Problem{Source: s.source, Object: s.object, Field: field, What: what, Remedy: remedy})
}
