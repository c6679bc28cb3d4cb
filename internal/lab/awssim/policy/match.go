package policy

import "strings"

// glob compares with * (any text, also none) and ? (one character).
func glob(pattern, value string) bool {
	p, v, star, mark := 0, 0, -1, 0
	for v < len(value) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, v
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == value[v]):
			p++
			v++
		case star >= 0:
			p = star + 1
			mark++
			v = mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// arnMatch compares ARNs part by part, so that a wildcard in one part does not
// reach over a colon into the next; the last part given covers the rest.
func arnMatch(pattern, arn string) bool {
	if pattern == "*" {
		return true
	}
	parts := strings.SplitN(pattern, ":", 6)
	against := strings.SplitN(arn, ":", len(parts))
	if len(against) != len(parts) {
		return false
	}
	for i := range parts {
		if !glob(parts[i], against[i]) {
			return false
		}
	}
	return true
}
