package label

import (
	"slices"
	"strings"
)

// Label is one key and its value.
type Label struct{ Key, Value string }

// Lookup finds the value of a label.
type Lookup interface {
	Get(key string) (value string, there bool)
}

// Layers is labels that come from several places; a later layer wins.
type Layers [3]Labels

// Get returns the value of key in the last layer that has it.
func (l *Layers) Get(key string) (string, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if v, ok := l[i].Get(key); ok {
			return v, true
		}
	}
	return "", false
}

// Labels is a set of labels sorted by key, one per key.
type Labels []Label

// FromMap makes Labels of a map.
func FromMap(m map[string]string) Labels {
	out := make(Labels, 0, len(m))
	for k, v := range m {
		out = append(out, Label{k, v})
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Map returns the labels as a new map.
func (l Labels) Map() map[string]string {
	m := make(map[string]string, len(l))
	for _, x := range l {
		m[x.Key] = x.Value
	}
	return m
}

// Get returns the value of key and whether it is there.
func (l Labels) Get(key string) (string, bool) {
	i, found := l.find(key)
	if !found {
		return "", false
	}
	return l[i].Value, true
}

// With returns the labels with key set to value.
func (l Labels) With(key, value string) Labels {
	i, found := l.find(key)
	out := slices.Clone(l)
	if found {
		out[i].Value = value
		return out
	}
	return slices.Insert(out, i, Label{key, value})
}

// Merge returns the labels with those of o added; o wins where both have a key.
func (l Labels) Merge(o Labels) Labels {
	out := make(Labels, 0, len(l)+len(o))
	i, j := 0, 0
	for i < len(l) || j < len(o) {
		switch {
		case j == len(o) || (i < len(l) && l[i].Key < o[j].Key):
			out = append(out, l[i])
			i++
		case i == len(l) || o[j].Key < l[i].Key:
			out = append(out, o[j])
			j++
		default:
			out = append(out, o[j])
			i++
			j++
		}
	}
	return out
}

// Compare orders label sets.
func (l Labels) Compare(o Labels) int {
	return slices.CompareFunc(l, o, func(a, b Label) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
}

func (l Labels) find(key string) (int, bool) {
	return slices.BinarySearchFunc(l, key, func(x Label, k string) int { return strings.Compare(x.Key, k) })
}

// mostLetters is how long a label's value may be.
const mostLetters = 63

// Valid says whether a node can have a label with this value, by the rule of the
// Kubernetes API: nothing, or up to 63 letters, digits, '-', '_' and '.', with a letter
// or digit at each end.
func Valid(value string) bool {
	word := func(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
	for i := range len(value) {
		inner := i > 0 && i < len(value)-1 && (value[i] == '-' || value[i] == '_' || value[i] == '.')
		if !word(value[i]) && !inner {
			return false
		}
	}
	return len(value) <= mostLetters
}
