package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// condition is one operator applied to one key: Operator{Key: values}.
type condition struct {
	key      string // lower case
	values   []string
	set      setOperator
	ifExists bool
	null     bool
	negative bool // true of a key when no value matches (StringNotEquals)
	match    func(pattern, value string) bool
}

type setOperator int

const (
	single setOperator = iota
	forAllValues
	forAnyValue
)

// operators are the comparisons carried out here; the value of negated ones is
// the comparison that must fail.
func operators() map[string]struct {
	negative bool
	match    func(pattern, value string) bool
} {
	type op = struct {
		negative bool
		match    func(pattern, value string) bool
	}
	equals := func(p, v string) bool { return p == v }
	return map[string]op{
		"stringequals":              {false, equals},
		"stringnotequals":           {true, equals},
		"stringequalsignorecase":    {false, strings.EqualFold},
		"stringnotequalsignorecase": {true, strings.EqualFold},
		"stringlike":                {false, glob},
		"stringnotlike":             {true, glob},
		"arnequals":                 {false, arnMatch},
		"arnlike":                   {false, arnMatch},
		"arnnotequals":              {true, arnMatch},
		"arnnotlike":                {true, arnMatch},
		"bool":                      {false, strings.EqualFold},
		"numericequals":             {false, numeric(func(p, v float64) bool { return v == p })},
		"numericlessthan":           {false, numeric(func(p, v float64) bool { return v < p })},
		"numericlessthanequals":     {false, numeric(func(p, v float64) bool { return v <= p })},
		"numericgreaterthan":        {false, numeric(func(p, v float64) bool { return v > p })},
		"numericgreaterthanequals":  {false, numeric(func(p, v float64) bool { return v >= p })},
	}
}

func numeric(compare func(pattern, value float64) bool) func(string, string) bool {
	return func(pattern, value string) bool {
		p, errP := strconv.ParseFloat(pattern, 64)
		v, errV := strconv.ParseFloat(value, 64)
		return errP == nil && errV == nil && compare(p, v)
	}
}

func parseConditions(raw map[string]map[string]stringList) ([]condition, error) {
	known := operators()
	var out []condition
	for operator, keys := range raw {
		base := condition{}
		name := strings.ToLower(operator)
		if rest, ok := strings.CutPrefix(name, "forallvalues:"); ok {
			base.set, name = forAllValues, rest
		} else if rest, ok := strings.CutPrefix(name, "foranyvalue:"); ok {
			base.set, name = forAnyValue, rest
		}
		if rest, ok := strings.CutSuffix(name, "ifexists"); ok {
			base.ifExists, name = true, rest
		}
		op, ok := known[name]
		switch {
		case name == "null" && base.set == single && !base.ifExists:
			base.null = true
		case ok:
			base.negative, base.match = op.negative, op.match
		default:
			return nil, fmt.Errorf("condition operator %q is not carried out here", operator)
		}
		for key, values := range keys {
			if len(values) == 0 {
				return nil, fmt.Errorf("condition %s of %s has no value", operator, key)
			}
			c := base
			c.key, c.values = strings.ToLower(key), values
			out = append(out, c)
		}
	}
	// Order plays no part in the verdict; a fixed one makes failures repeatable.
	slices.SortFunc(out, func(a, b condition) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

// holds says whether the condition is met by the request's keys.
func (c condition) holds(r *Request) bool {
	values, present := r.key(c.key)
	if c.null {
		return slices.ContainsFunc(c.values, func(v string) bool { return strings.EqualFold(v, strconv.FormatBool(!present)) })
	}
	if !present {
		// An absent key: ForAllValues and the negated operators hold, the others do not.
		return c.ifExists || c.set == forAllValues || c.negative && c.set == single
	}
	one := func(value string) bool {
		matched := slices.ContainsFunc(c.values, func(pattern string) bool {
			text, ok := r.expand(pattern)
			return ok && c.match(text, value)
		})
		return matched != c.negative
	}
	if c.set == forAnyValue {
		return slices.ContainsFunc(values, one)
	}
	if c.set == single && !c.negative {
		return slices.ContainsFunc(values, one)
	}
	return !slices.ContainsFunc(values, func(v string) bool { return !one(v) })
}
