package legacy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"sigs.k8s.io/yaml"
)

// A manifest that Terraform renders may have one template for a whole list or map, such as
// values: ${jsonencode(var.types)}. While it is converted, a list or map of one member stands
// for it, whose text begins with a mark that no text of YAML has. What looks into lists leaves
// such a member alone, or says that it cannot.
const mark = "\x00"

// wholly says whether a text stands for all of a list or map.
func wholly(text string) bool { return strings.HasPrefix(text, mark) }

// whollyOf says whether a map stands for a template.
func whollyOf[V any](of map[string]V) bool {
	for key := range of {
		if wholly(key) {
			return true
		}
	}
	return false
}

// standIn is what stands for a text in the place of a list or map of this type; nil if the text
// is not one template.
func standIn(text string, t reflect.Type) any {
	text = strings.TrimSpace(text)
	if _, ok := wrapped(text); !ok {
		return nil
	}
	switch {
	case t.Kind() == reflect.Map:
		return map[string]any{mark + text: text}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return []any{map[string]any{textField(t.Elem()): mark + text}}
	case t.Kind() == reflect.Slice:
		return []any{mark + text}
	}
	return nil
}

// textField is the field of a member that has the text.
func textField(t reflect.Type) string {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); t.Field(i).Type.Kind() == reflect.String {
			return name
		}
	}
	return ""
}

// wholeOf gives the text that a member of a list stands for.
func wholeOf(member reflect.Value) (string, bool) {
	if member.Kind() == reflect.Struct {
		for i := range member.NumField() {
			if f := member.Field(i); f.Kind() == reflect.String && wholly(f.String()) {
				return strings.TrimPrefix(f.String(), mark), true
			}
		}
		return "", false
	}
	if member.Kind() != reflect.String || !wholly(member.String()) {
		return "", false
	}
	return strings.TrimPrefix(member.String(), mark), true
}

// wrapped gives the expression of a text that is one template and nothing else.
func wrapped(text string) (string, bool) {
	if !strings.HasPrefix(text, "${") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	parsed, problems := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
	wrap, ok := parsed.(*hclsyntax.TemplateWrapExpr)
	if problems.HasErrors() || !ok {
		return "", false
	}
	inner := wrap.Wrapped.Range()
	return text[inner.Start.Byte:inner.End.Byte], true
}

// decoded gives the expression whose value a template has once what it renders is read as
// YAML: x of ${jsonencode(x)}.
func decoded(text string) (expression string, simple bool) {
	inner, _ := wrapped(text)
	for {
		parsed, problems := hclsyntax.ParseExpression([]byte(inner), "", hcl.InitialPos)
		call, ok := parsed.(*hclsyntax.FunctionCallExpr)
		if problems.HasErrors() || !ok || len(call.Args) == 0 || call.ExpandFinal {
			return "yamldecode(" + inner + ")", false
		}
		last := call.Args[len(call.Args)-1].Range()
		argument := inner[last.Start.Byte:last.End.Byte]
		switch call.Name {
		case "jsonencode", "yamlencode":
			return argument, true
		case "indent", "trimspace", "chomp":
			inner = argument
		default:
			return "yamldecode(" + inner + ")", false
		}
	}
}

// rendered is the template as manifests have it, on one line.
func rendered(text string) string {
	if expression, simple := decoded(text); simple && !strings.Contains(expression, "\n") {
		return "${jsonencode(" + expression + ")}"
	}
	return text
}

// withWhole puts the templates back that lists and maps of one member stand for.
func withWhole(data []byte) (string, error) {
	if !strings.Contains(string(data), `"\0`) {
		return string(data), nil
	}
	var object any
	if err := yaml.Unmarshal(data, &object); err != nil {
		return "", fmt.Errorf("read YAML: %w", err)
	}
	var texts []string
	object = replaceWhole(object, func(text string) string {
		texts = append(texts, text)
		return fmt.Sprintf("whole-%d-template", len(texts)-1)
	})
	data, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	out := string(data)
	for i, text := range texts {
		out = strings.Replace(out, fmt.Sprintf("whole-%d-template", i), rendered(text), 1)
	}
	return out, nil
}

// replaceWhole gives each list and map that stands for a template what by returns for it.
func replaceWhole(value any, by func(text string) string) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if wholly(key) {
				return by(strings.TrimPrefix(key, mark))
			}
			v[key] = replaceWhole(v[key], by)
		}
	case []any:
		if len(v) != 1 {
			break
		}
		if text, _ := v[0].(string); wholly(text) {
			return by(strings.TrimPrefix(text, mark))
		}
		member, _ := v[0].(map[string]any)
		for _, field := range member {
			if text, _ := field.(string); len(member) == 1 && wholly(text) {
				return by(strings.TrimPrefix(text, mark))
			}
		}
	}
	if list, ok := value.([]any); ok {
		for i := range list {
			list[i] = replaceWhole(list[i], by)
		}
	}
	return value
}
