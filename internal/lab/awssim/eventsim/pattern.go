package eventsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// pattern is a parsed event pattern: for each field either a nested pattern or
// the matchers of which one must hold.
// Source: EventBridge user guide, "Creating Amazon EventBridge event patterns".
type pattern struct {
	fields map[string]*pattern
	any    []matcher // leaf
}

// matcher tests the value of a field; present is false where the event has none.
type matcher func(value any, present bool) bool

var errPattern = errors.New("event pattern is not valid")

func parsePattern(text string) (*pattern, error) {
	var root map[string]any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, fmt.Errorf("%w: %w", errPattern, err)
	}
	return parseObject(root)
}

func parseObject(object map[string]any) (*pattern, error) {
	if len(object) == 0 {
		return nil, fmt.Errorf("%w: empty objects are not allowed", errPattern)
	}
	out := &pattern{fields: map[string]*pattern{}}
	for name, value := range object {
		var child *pattern
		var err error
		switch v := value.(type) {
		case map[string]any:
			child, err = parseObject(v)
		case []any:
			child, err = parseMatchers(name, v)
		default:
			err = fmt.Errorf("%w: %q must be an object or an array", errPattern, name)
		}
		if err != nil {
			return nil, err
		}
		out.fields[name] = child
	}
	return out, nil
}

func parseMatchers(field string, values []any) (*pattern, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%w: %q has an empty array", errPattern, field)
	}
	out := &pattern{}
	for _, value := range values {
		m, err := parseMatcher(field, value)
		if err != nil {
			return nil, err
		}
		out.any = append(out.any, m)
	}
	return out, nil
}

func parseMatcher(field string, value any) (matcher, error) {
	object, ok := value.(map[string]any)
	if !ok {
		if _, list := value.([]any); list {
			return nil, fmt.Errorf("%w: %q has an array in an array", errPattern, field)
		}
		return func(v any, present bool) bool { return present && v == value }, nil
	}
	for operator, operand := range object {
		text, isText := operand.(string)
		switch {
		case len(object) != 1:
		case operator == "prefix" && isText:
			return textual(func(v string) bool { return strings.HasPrefix(v, text) }), nil
		case operator == "suffix" && isText:
			return textual(func(v string) bool { return strings.HasSuffix(v, text) }), nil
		case operator == "equals-ignore-case" && isText:
			return textual(func(v string) bool { return strings.EqualFold(v, text) }), nil
		case operator == "exists":
			if want, ok := operand.(bool); ok {
				return func(_ any, present bool) bool { return present == want }, nil
			}
		case operator == "anything-but":
			if not, ok := exclusions(operand); ok {
				return func(v any, present bool) bool { return present && !not(v) }, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: %q has a matcher that is not simulated: %v", errPattern, field, value)
}

func textual(test func(string) bool) matcher {
	return func(v any, present bool) bool {
		text, ok := v.(string)
		return present && ok && test(text)
	}
}

// exclusions reads the operand of anything-but: a value or a list of them.
func exclusions(operand any) (func(any) bool, bool) {
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	for _, item := range list {
		switch item.(type) {
		case string, float64, bool:
		default:
			return nil, false
		}
	}
	return func(v any) bool {
		for _, item := range list {
			if item == v {
				return true
			}
		}
		return false
	}, true
}

// matches says whether an event, decoded from JSON, has every field that the
// pattern wants.
func (p *pattern) matches(event any, present bool) bool {
	if p.any == nil {
		object, ok := event.(map[string]any)
		for name, child := range p.fields {
			value, has := object[name]
			if !child.matches(value, ok && has) {
				return false
			}
		}
		return true
	}
	// An array in the event matches if one of its elements does.
	values, isList := event.([]any)
	if !isList {
		values = []any{event}
	}
	for _, m := range p.any {
		if isList && len(values) == 0 && m(nil, false) {
			return true
		}
		for _, v := range values {
			if m(v, present) {
				return true
			}
		}
	}
	return false
}
