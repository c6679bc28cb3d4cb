package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What stands in a template in the place of a value.
type (
	// scalar is an expression for one word.
	scalar struct{ expression string }
	// number is an expression for a number.
	number struct{ expression string }
	// block is an expression for lines of YAML.
	block struct{ expression string }
	// guarded is a field that is left out if the expression is empty. lines makes YAML of it.
	guarded struct{ expression, lines string }
	// optional is text that is left out if the expression is empty.
	optional struct{ expression string }
	// raw is lines that take the place of a field.
	raw string
	// conditional is an entry of a list that is there if the expression is not empty.
	conditional struct {
		expression string
		entry      any
	}
	// each are the entries that a map of the values adds to a list.
	each struct{ expression, lines string }
)

// generator makes templates of objects with markers.
type generator struct {
	expressions map[string]string // by marker
	places      map[string]any    // by path
	always      map[string]bool   // environment variables without condition
	used        map[string]bool   // markers and paths that were found
}

// unused returns an error if a marker or a place was never found: the table is wrong, or install leaves an
// option out.
func (g *generator) unused() error {
	for _, want := range slices.Concat(slices.Sorted(maps.Keys(g.expressions)), slices.Sorted(maps.Keys(g.places)), slices.Sorted(maps.Keys(variables())), merged()) {
		if !g.used[want] {
			return fmt.Errorf("no object has %q", want)
		}
	}
	return nil
}

func (g *generator) use(what string) {
	if g.used == nil {
		g.used = map[string]bool{}
	}
	g.used[what] = true
}

func (g *generator) template(o *unstructured.Unstructured) (string, error) {
	marked, err := g.node(o.GetKind(), o.Object)
	if err != nil {
		return "", err
	}
	fields, _ := marked.(map[string]any)
	lines, err := mapping(fields, 0)
	if err != nil {
		return "", err
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// node replaces what is marked in a value.
func (g *generator) node(path string, value any) (any, error) {
	if place, there := g.places[path]; there {
		g.use(path)
		return place, nil
	}
	switch v := value.(type) {
	case map[string]any:
		return g.object(path, v)
	case []any:
		return g.list(path, v)
	case string:
		if expression, there := g.expressions[v]; there {
			g.use(v)
			return scalar{expression}, nil
		}
		for marker := range g.expressions {
			if len(marker) > 8 && strings.Contains(v, marker) || strings.Contains(v, "chart.example") {
				return nil, fmt.Errorf("%s is %q: a marker within a text is not replaced", path, v)
			}
		}
	case int64:
		if expression, there := g.expressions[fmt.Sprint(v)]; there {
			g.use(fmt.Sprint(v))
			return number{expression}, nil
		}
	}
	return value, nil
}

func (g *generator) object(path string, fields map[string]any) (any, error) {
	out := map[string]any{}
	var on []string
	for _, value := range merged() {
		if _, there := fields[key+value]; there {
			g.use(value)
			on = append(on, "(.Values."+value+" | default dict)")
			delete(fields, key+value)
		}
	}
	for name, value := range fields {
		if strings.Contains(name, key) {
			return nil, fmt.Errorf("%s.%s: nothing says what replaces it", path, name)
		}
		child, err := g.node(path+"."+name, value)
		if err != nil {
			return nil, err
		}
		out[name] = child
	}
	if len(on) == 0 {
		return out, nil
	}
	if len(out) == 0 && len(on) == 1 {
		return guarded{strings.TrimSuffix(strings.TrimPrefix(on[0], "("), " | default dict)"), "toYaml ."}, nil
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(out)) {
		switch v := out[name].(type) {
		case string:
			pairs = append(pairs, fmt.Sprintf("%q %q", name, v))
		case scalar:
			pairs = append(pairs, fmt.Sprintf("%q (%s)", name, v.expression))
		default:
			return nil, fmt.Errorf("%s.%s: cannot be merged", path, name)
		}
	}
	return block{"mustMergeOverwrite (dict " + strings.Join(pairs, " ") + ") " + strings.Join(on, " ") + " | toYaml"}, nil
}

func (g *generator) list(path string, items []any) (any, error) {
	out := make([]any, 0, len(items))
	for _, item := range items {
		entry, _ := item.(map[string]any)
		variable, _ := entry["name"].(string)
		if variable == "CHART_ENVIRONMENT" {
			out = append(out, each{".Values.controller.environment", "- name: {{ $name }}\n  value: {{ $value | quote }}"})
			continue
		}
		if condition := environment()[variable]; condition != "" && strings.HasSuffix(path, ".env") {
			out = append(out, conditional{condition, item})
			continue
		}
		child, err := g.node(path+"[]", item)
		if err != nil {
			return nil, err
		}
		if fields, _ := child.(map[string]any); strings.HasSuffix(path, ".env") && variables()[variable] != "" {
			g.use(variable)
			fields["value"] = scalar{variables()[variable]}
		}
		if strings.HasSuffix(path, ".env") && !g.always[variable] {
			fields, _ := child.(map[string]any)
			value, _ := fields["value"].(scalar)
			condition := value.expression
			if condition == "" {
				return nil, fmt.Errorf("environment variable %s: nothing says when it is there", variable)
			}
			child = conditional{condition, child}
		}
		out = append(out, child)
	}
	return out, nil
}

// mapping writes the fields in the order of their names.
func mapping(fields map[string]any, indent int) ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines, err := field(name, fields[name], indent)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}

func field(name string, value any, indent int) ([]string, error) {
	in := strings.Repeat(" ", indent)
	nindent := fmt.Sprintf(" | nindent %d }}", indent+2)
	switch v := value.(type) {
	case block:
		return []string{in + name + ":", in + "  {{- " + v.expression + nindent}, nil
	case guarded:
		return []string{in + "{{- with " + v.expression + " }}", in + name + ":", in + "  {{- " + v.lines + nindent, in + "{{- end }}"}, nil
	case optional:
		return []string{in + "{{- with " + v.expression + " }}", in + name + ": {{ . | quote }}", in + "{{- end }}"}, nil
	case raw:
		return indented(string(v), in), nil
	case map[string]any:
		if len(v) == 0 {
			return []string{in + name + ": {}"}, nil
		}
		below, err := mapping(v, indent+2)
		return append([]string{in + name + ":"}, below...), err
	case []any:
		if flow, ok := words(v); ok {
			return []string{in + name + ": " + flow}, nil
		}
		below, err := list(v, indent)
		return append([]string{in + name + ":"}, below...), err
	}
	text, err := plain(value)
	return []string{in + name + ": " + text}, err
}

// list writes entries at the indentation of their field.
func list(items []any, indent int) ([]string, error) {
	in := strings.Repeat(" ", indent)
	var out []string
	for _, item := range items {
		switch v := item.(type) {
		case conditional:
			below, err := list([]any{v.entry}, indent)
			if err != nil {
				return nil, err
			}
			out = append(append(append(out, in+"{{- if "+v.expression+" }}"), below...), in+"{{- end }}")
		case each:
			out = append(append(append(out, in+"{{- range $name, $value := "+v.expression+" }}"), indented(v.lines, in)...), in+"{{- end }}")
		case map[string]any:
			lines, err := mapping(v, indent+2)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(strings.TrimSpace(lines[0]), "{{") {
				return nil, fmt.Errorf("the first field of %v may be absent", v)
			}
			out = append(append(out, in+"- "+strings.TrimSpace(lines[0])), lines[1:]...)
		default:
			text, err := plain(v)
			if err != nil {
				return nil, err
			}
			out = append(out, in+"- "+text)
		}
	}
	return out, nil
}

// words writes a list of texts in one line.
func words(items []any) (string, bool) {
	for _, item := range items {
		if _, ok := item.(string); !ok {
			return "", false
		}
	}
	text, err := json.Marshal(items)
	return strings.ReplaceAll(string(text), `","`, `", "`), err == nil
}

// plain writes a value of one word.
func plain(value any) (string, error) {
	switch v := value.(type) {
	case scalar:
		return "{{ " + v.expression + " | quote }}", nil
	case number:
		return "{{ " + v.expression + " }}", nil
	case string, bool, int64, float64:
		text, err := yaml.Marshal(v)
		return strings.TrimSpace(string(text)), err //nolint:wrapcheck // it cannot happen for these
	}
	return "", fmt.Errorf("%T cannot be written", value)
}

func indented(text, in string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = in + line
	}
	return lines
}
