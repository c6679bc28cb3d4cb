package ec2sim

import (
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const tagFilterPrefix = "tag:"

// matches says whether the item passes all filters.
func (v view[T]) matches(filters []filter, item T) (bool, error) {
	for _, f := range filters {
		values, err := v.values(f.Name, item)
		if err != nil {
			return false, err
		}
		if !anyMatch(f.Values, values) {
			return false, nil
		}
	}
	return true, nil
}

func (v view[T]) knows(filters []filter) error {
	for _, f := range filters {
		isTag := v.tags != nil && (f.Name == "tag-key" || strings.HasPrefix(f.Name, tagFilterPrefix))
		if _, ok := v.fields[f.Name]; !ok && !isTag {
			return unknownFilter(f.Name)
		}
		if len(f.Values) == 0 {
			return wire.Errorf("InvalidParameterValue", "The filter '%s' needs at least one value", f.Name)
		}
	}
	return nil
}

func unknownFilter(name string) error {
	return wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", name)
}

// values are what the named filter is compared with.
func (v view[T]) values(name string, item T) ([]string, error) {
	if v.tags != nil {
		if name == "tag-key" {
			keys := []string{}
			for key := range v.tags(item) {
				keys = append(keys, key)
			}
			return keys, nil
		}
		if key, ok := strings.CutPrefix(name, tagFilterPrefix); ok {
			value, found := v.tags(item)[key]
			if !found {
				return nil, nil
			}
			return []string{value}, nil
		}
	}
	field, ok := v.fields[name]
	if !ok {
		return nil, unknownFilter(name)
	}
	return field(item), nil
}

func anyMatch(patterns, values []string) bool {
	for _, pattern := range patterns {
		for _, value := range values {
			if wildcardMatch(pattern, value) {
				return true
			}
		}
	}
	return false
}

// wildcardMatch compares with EC2's wildcards: * is any run of characters, ?
// one character, and a backslash takes the next character as it is.
func wildcardMatch(pattern, value string) bool {
	star, mark := -1, 0
	p, v := 0, 0
	for v < len(value) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, v
			p++
		case p < len(pattern) && matchOne(pattern, &p, value[v]):
			v++
		case star >= 0:
			mark++
			p, v = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne compares one pattern element and moves past it where it matches.
func matchOne(pattern string, p *int, c byte) bool {
	switch {
	case pattern[*p] == '\\' && *p+1 < len(pattern):
		if pattern[*p+1] != c {
			return false
		}
		*p += 2
		return true
	case pattern[*p] == '?' || pattern[*p] == c:
		*p++
		return true
	}
	return false
}
