package values

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Schema returns the JSON schema of the values, which refuses keys that are not described.
func Schema() ([]byte, error) {
	schema := Describe().schema(false)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of karpenterd"
	// Helm gives every chart this one.
	properties := schema["properties"].(map[string]any) //nolint:forcetypeassert // the values are an object
	properties["global"] = map[string]any{"type": "object", "description": "Values that Helm shares between charts. The chart reads none."}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema write: %w", err)
	}
	return append(text, '\n'), nil
}

// schema is that of the field. Parts of Kubernetes' own types are never required.
func (f Field) schema(foreign bool) map[string]any {
	out := map[string]any{}
	if f.Doc != "" {
		out["description"] = f.Doc
	}
	switch f.Kind {
	case Object:
		properties, required := map[string]any{}, []string{}
		for _, child := range f.Fields {
			properties[child.Name] = child.schema(foreign || child.Doc == "" || f.Name == "affinity")
			if !child.Optional && !foreign && child.Doc != "" {
				required = append(required, child.Name)
			}
		}
		out["type"], out["properties"], out["additionalProperties"] = "object", properties, false
		if len(required) > 0 {
			slices.Sort(required)
			out["required"] = required
		}
	case Map:
		out["type"], out["additionalProperties"] = "object", f.Items.schema(foreign)
	case List:
		out["type"], out["items"] = "array", f.Items.schema(true)
		if f.Optional && f.Doc != "" {
			out["type"] = []string{"array", "null"}
		}
	case String, Boolean:
		out["type"] = string(f.Kind)
		if len(f.Choices) > 0 {
			out["enum"] = f.Choices
		}
	case Integer:
		out["type"] = "integer"
		if f.Min > 0 || !foreign {
			out["minimum"] = f.Min
		}
	case Quantity:
		out["type"] = []string{"string", "number"}
	case IntOrPercent:
		out["anyOf"] = []any{map[string]any{"type": "integer", "minimum": f.Min}, map[string]any{"type": "string", "pattern": "^[0-9]+%$"}, map[string]any{"type": "null"}}
	}
	return out
}

// width is where comments are broken.
const width = 110

// YAML returns the defaults as a values file, each with what it means.
func YAML() ([]byte, error) {
	defaults, err := decode(mustJSON(Default()))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, f := range Describe().Fields {
		out.WriteString("\n")
		if err := f.write(&out, defaults[f.Name], ""); err != nil {
			return nil, err
		}
	}
	return []byte(out.String()[1:]), nil
}

func (f Field) write(out *strings.Builder, value any, indent string) error {
	doc := f.Doc
	if len(f.Choices) > 0 {
		doc += " One of " + strings.Join(f.Choices, ", ") + "."
	}
	for _, line := range wrapped(doc, width-len(indent)) {
		fmt.Fprintf(out, "%s# %s\n", indent, line)
	}
	below, isMap := value.(map[string]any)
	switch {
	case value == nil && f.Kind == Object: // nothing is set
		fmt.Fprintf(out, "%s%s: {}\n", indent, f.Name)
	case value == nil:
		fmt.Fprintf(out, "%s# %s:\n", indent, f.Name)
	case isMap && f.Kind == Object:
		fmt.Fprintf(out, "%s%s:\n", indent, f.Name)
		for _, child := range f.Fields {
			if err := child.write(out, below[child.Name], indent+"  "); err != nil {
				return err
			}
		}
	default:
		text, err := yaml.Marshal(map[string]any{f.Name: value})
		if err != nil {
			return fmt.Errorf("values write: %w", err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fmt.Fprintf(out, "%s%s\n", indent, line)
		}
	}
	return nil
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Table returns the fields with their defaults as a table of Markdown.
func Table() (string, error) {
	defaults, err := decode(mustJSON(Default()))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| value | default | what it is |\n|---|---|---|\n")
	var rows func(fields []Field, values map[string]any, about string)
	rows = func(fields []Field, values map[string]any, about string) {
		for _, f := range fields {
			below, isMap := values[f.Name].(map[string]any)
			if isMap && f.Kind == Object {
				about := ""
				if len(f.Fields) == 1 { // which says no more than the group
					about = f.Doc + " "
				}
				rows(f.Fields, below, about)
				continue
			}
			doc := about + f.Doc
			if len(f.Choices) > 0 {
				doc += " One of `" + strings.Join(f.Choices, "`, `") + "`."
			}
			usual := ""
			if values[f.Name] != nil {
				usual = "`" + string(mustJSON(values[f.Name])) + "`"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.Path, usual, strings.ReplaceAll(doc, "|", "\\|"))
		}
	}
	rows(Describe().Fields, defaults, "")
	return out.String(), nil
}
