package definition

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Steps is a path into a resource's attributes: names, and decimal indexes of
// lists. It ends at a map or a set: messages name the element.
type Steps []string

// Attribute gives the attribute of an API field. rename removes the beginning of
// the field path, or replaces it by an attribute's name. The rest has the API's names
// in snake case.
func Attribute(fieldPath string, rename *strings.Replacer) Steps {
	var steps Steps
	for _, token := range tokens(rename.Replace(fieldPath)) {
		if _, err := strconv.Atoi(token); err != nil {
			token = snake(token)
		}
		steps = append(steps, token)
		if slices.Contains(mapsAndSets(), token) {
			break
		}
	}
	return steps
}

// mapsAndSets are the attributes whose elements have names of their own.
func mapsAndSets() []string {
	return []string{
		"values", "labels", "annotations", "limits", "tags",
		"system_reserved", "kube_reserved", "eviction_hard", "eviction_soft", "eviction_soft_grace_period", "extra",
	}
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

// snake writes kmsKeyID as kms_key_id and httpProtocolIPv6 as http_protocol_ipv6.
func snake(name string) string {
	letters := []rune(strings.ReplaceAll(name, "IPv6", "Ipv6"))
	var out strings.Builder
	for i, letter := range letters {
		begins := i > 0 && unicode.IsUpper(letter) &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
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
