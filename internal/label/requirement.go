package label

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Operator says how a requirement's values are meant.
type Operator string

// The operators of node affinity, and Karpenter's Gte and Lte.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// Requirement is the set of values that one label may have. A Requirement with a
// key and nothing else admits neither a value nor absence: it is a contradiction.
type Requirement struct {
	key        string
	complement bool     // values are excluded, not admitted
	values     []string // sorted, unique
	bounded    bool     // lower and upper apply (only with complement)
	lower      int64    // inclusive
	upper      int64    // inclusive
	absent     bool     // the label may be missing
}

// NewRequirement makes a requirement on the canonical spelling of key. The
// error names the key, the operator and what is wrong with the values.
func NewRequirement(key string, op Operator, values ...string) (Requirement, error) {
	r := Requirement{key: Canonical(key)}
	switch op {
	case In, NotIn:
		if op == In && len(values) == 0 {
			return r, fmt.Errorf("requirement %s %s: needs at least one value", key, op)
		}
		r.values = slices.Compact(slices.Sorted(slices.Values(values)))
		r.complement, r.absent = op == NotIn, op == NotIn
	case Exists, DoesNotExist:
		if len(values) != 0 {
			return r, fmt.Errorf("requirement %s %s: takes no values, has %q", key, op, values)
		}
		r.complement, r.absent = op == Exists, op == DoesNotExist
	case Gt, Lt, Gte, Lte:
		if len(values) != 1 {
			return r, fmt.Errorf("requirement %s %s: needs exactly one value, has %d", key, op, len(values))
		}
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return r, fmt.Errorf("requirement %s %s: %q is not a whole number", key, op, values[0])
		}
		return bounded(r.key, op, n), nil
	default:
		return r, fmt.Errorf("requirement %s: unknown operator %q; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte", key, op)
	}
	return r, nil
}

func bounded(key string, op Operator, n int64) Requirement {
	r := Requirement{key: key, complement: true, bounded: true, lower: math.MinInt64, upper: math.MaxInt64}
	switch op {
	case In, NotIn, Exists, DoesNotExist: // have no bound
	case Gte:
		r.lower = n
	case Lte:
		r.upper = n
	case Gt:
		if n == math.MaxInt64 {
			return Requirement{key: key}
		}
		r.lower = n + 1
	case Lt:
		if n == math.MinInt64 {
			return Requirement{key: key}
		}
		r.upper = n - 1
	}
	if r.upper < 0 {
		return Requirement{key: key} // no label value begins with a sign
	}
	return r
}

// Is makes the requirement that key has exactly this value.
func Is(key, value string) Requirement {
	return Requirement{key: Canonical(key), values: []string{value}}
}

// Key returns the label's canonical key.
func (r Requirement) Key() string { return r.key }

// Admits says whether the label may have this value.
func (r Requirement) Admits(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	if listed == r.complement {
		return false
	}
	return !r.bounded || r.within(value)
}

// MetBy says whether the labels of a node satisfy the requirement. Without a hostname they are
// those of a node that has not joined: it will have a name, and none that anybody knows.
func (r Requirement) MetBy(l Lookup) bool {
	if r.key == Hostname {
		if _, there := l.Get(r.key); !there {
			return r.Admits(unknownName)
		}
	}
	return r.selects(l)
}

// selects says whether the requirement, as one of a selector, matches an object with these labels.
func (r Requirement) selects(l Lookup) bool {
	if value, there := l.Get(r.key); there {
		return r.Admits(value)
	}
	return r.absent
}

// unknownName is a value that no label can have.
const unknownName = "?"

// AdmitsAbsence says whether the label may be missing.
func (r Requirement) AdmitsAbsence() bool { return r.absent }

// Contradicts says that neither a value nor absence is admitted.
func (r Requirement) Contradicts() bool {
	if r.absent {
		return false
	}
	if !r.complement {
		return len(r.values) == 0
	}
	return r.bounded && r.lower > r.upper
}

// Values returns the admitted values and true where they can be listed (In,
// DoesNotExist), else nil and false.
func (r Requirement) Values() ([]string, bool) {
	if r.complement {
		return nil, false
	}
	return slices.Clone(r.values), true
}

// Some returns a value that the requirement admits: the first value where the
// values can be listed, otherwise a small whole number.
func (r Requirement) Some() (value string, ok bool) {
	if !r.complement {
		if len(r.values) == 0 {
			return "", false
		}
		return r.values[0], true
	}
	n := max(r.low(), min(0, r.high()))
	for range len(r.values) + 1 {
		if v := strconv.FormatInt(n, 10); r.Admits(v) {
			return v, true
		}
		if n == r.high() {
			return "", false
		}
		n++
	}
	return "", false
}

// Intersect returns what both admit. The keys must be equal.
func (r Requirement) Intersect(o Requirement) Requirement {
	out := Requirement{key: r.key, absent: r.absent && o.absent}
	switch {
	case r.complement && o.complement:
		out.complement = true
		out.values = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(r.values), o.values...))))
		out.bounded = r.bounded || o.bounded
		if out.bounded {
			out.lower, out.upper = max(r.low(), o.low()), min(r.high(), o.high())
			if out.lower > out.upper {
				return Requirement{key: r.key, absent: out.absent}
			}
		}
	case r.complement:
		out.values = keep(o.values, r.Admits)
	default:
		out.values = keep(r.values, o.Admits)
	}
	return out
}

// Compare orders requirements by key, then by what they admit.
func (r Requirement) Compare(o Requirement) int {
	if c := strings.Compare(r.key, o.key); c != 0 {
		return c
	}
	return strings.Compare(r.String(), o.String())
}

// String renders the requirement as people write it.
func (r Requirement) String() string {
	var parts []string
	switch {
	case r.Contradicts():
		return r.key + " has no possible value"
	case !r.complement && r.absent && len(r.values) == 0:
		return r.key + " DoesNotExist"
	case !r.complement:
		parts = append(parts, r.key+" In ["+strings.Join(r.values, " ")+"]")
	case len(r.values) > 0:
		parts = append(parts, r.key+" NotIn ["+strings.Join(r.values, " ")+"]")
	case !r.bounded:
		parts = append(parts, r.key+" Exists")
	}
	if r.bounded && r.lower != math.MinInt64 {
		parts = append(parts, r.key+" Gte "+strconv.FormatInt(r.lower, 10))
	}
	if r.bounded && r.upper != math.MaxInt64 {
		parts = append(parts, r.key+" Lte "+strconv.FormatInt(r.upper, 10))
	}
	return strings.Join(parts, " and ")
}

func (r Requirement) within(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n >= r.lower && n <= r.upper
}

func (r Requirement) low() int64 {
	if r.bounded {
		return r.lower
	}
	return math.MinInt64
}

func (r Requirement) high() int64 {
	if r.bounded {
		return r.upper
	}
	return math.MaxInt64
}

func keep(values []string, admits func(string) bool) []string {
	var out []string
	for _, v := range values {
		if admits(v) {
			out = append(out, v)
		}
	}
	return out
}

// written is a Requirement as records of decisions have it.
type written struct {
	Key                         string
	Complement, Bounded, Absent bool
	Values                      []string
	Lower, Upper                int64
}

// GobEncode writes the requirement for a record of a decision; see package replay.
func (r Requirement) GobEncode() ([]byte, error) {
	return json.Marshal(written{r.key, r.complement, r.bounded, r.absent, r.values, r.lower, r.upper}) //nolint:wrapcheck // it cannot fail
}

// GobDecode reads what GobEncode wrote.
func (r *Requirement) GobDecode(data []byte) error {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("requirement read: %w", err)
	}
	*r = Requirement{w.Key, w.Complement, w.Values, w.Bounded, w.Lower, w.Upper, w.Absent}
	return nil
}
