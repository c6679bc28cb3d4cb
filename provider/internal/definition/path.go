package definition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Steps is a path into a resource's attributes: names, and decimal indexes of
// lists. It ends at a map or a set: messages name the element.
type Steps []string

// Attribute gives the attribute of an API field in a configuration of the type. rename removes
// the beginning of the field path, or replaces it by an attribute's name. The rest has the
// API's names in snake case.
func Attribute(fieldPath string, rename *strings.Replacer, config tftypes.Type) Steps {
	var steps Steps
	for _, token := range tokens(rename.Replace(fieldPath)) {
		switch of := config.(type) {
		case tftypes.Object:
			token = v1.AttributeName(token)
			config = of.AttributeTypes[token]
		case tftypes.List:
			config = of.ElementType
		default: // a map or a set
			return steps
		}
		steps = append(steps, token)
	}
	return steps
}

// tokens splits a.b[0].c[x/y.z] at dots and brackets.
func tokens(fieldPath string) []string {
	var out []string
	for fieldPath != "" {
		end := strings.IndexAny(fieldPath, ".[")
		if fieldPath[0] == '[' {
			end = strings.IndexByte(fieldPath, ']')
			out = append(out, fieldPath[1:end])
			fieldPath = strings.TrimPrefix(fieldPath[end+1:], ".")
			continue
		}
		if end < 0 {
			return append(out, fieldPath)
		}
		out = append(out, fieldPath[:end])
		fieldPath = strings.TrimPrefix(fieldPath[end:], ".")
	}
	return out
}

// Path is s in the framework's form.
func (s Steps) Path() path.Path {
	out := path.Empty()
	for _, step := range s {
		if index, err := strconv.Atoi(step); err == nil {
			out = out.AtListIndex(index)
		} else {
			out = out.AtName(step)
		}
	}
	return out
}

// Unknown lists where a configuration has unknown values.
func Unknown(config tftypes.Value) ([]Steps, error) {
	var out []Steps
	err := tftypes.Walk(config, func(p *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if !v.IsKnown() {
			out = append(out, stepsOf(p))
		}
		return true, nil
	})
	return out, err
}

func stepsOf(p *tftypes.AttributePath) Steps {
	var steps Steps
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			steps = append(steps, string(step))
		case tftypes.ElementKeyInt:
			steps = append(steps, strconv.FormatInt(int64(step), 10))
		default:
			return steps
		}
	}
	return steps
}

// Touches tells whether one of the other paths is at, above or below s. If the
// others are unknown values, one of them may be the cause of an objection at s.
func (s Steps) Touches(others []Steps) bool {
	return slices.ContainsFunc(others, func(o Steps) bool {
		n := min(len(s), len(o))
		return slices.Equal(s[:n], o[:n])
	})
}
