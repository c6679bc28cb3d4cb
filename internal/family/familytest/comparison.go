package familytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Explanation is of a difference that stays. Families, separated by spaces, are those that
// have it, and the instance is empty if it may be any.
type Explanation struct{ Families, Instance, Place, Ours, Theirs, Reason string }

// Comparison holds readings against each other, and a table of what may differ.
type Comparison struct {
	table    []Explanation
	used     map[string]bool
	compared int
}

// NewComparison begins one. The table has a type of the caller's, which may leave out the names
// of the fields.
func NewComparison[E ~struct{ Families, Instance, Place, Ours, Theirs, Reason string }](table []E) *Comparison {
	c := &Comparison{used: map[string]bool{}}
	for _, e := range table {
		c.table = append(c.table, Explanation(e))
	}
	return c
}

// Instance compares the user data of an instance with images of the family. What differs and
// is not explained is an error.
func (c *Comparison) Instance(t *testing.T, family, instance string, ours, theirs Settings) {
	t.Helper()
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	if ours[Form] == Refused || theirs[Form] == Refused {
		all = Settings{Form: ""} // of which there is nothing more to compare
	}
	c.compared += len(all)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		here, there := ours.At(place), theirs.At(place)
		if here == there {
			continue
		}
		n := slices.IndexFunc(c.table, func(e Explanation) bool {
			return slices.Contains(strings.Fields(e.Families), family) && (e.Instance == "" || e.Instance == instance) &&
				e.Place == place && e.Ours == here && e.Theirs == there
		})
		if n < 0 {
			t.Errorf("%s, %s: %s: ours %q, Karpenter's %q", family, instance, place, here, there)
		}
		c.used[fmt.Sprint(n, family)] = true
	}
}

// End checks that each explanation explains something, and that at least so many settings
// were compared.
func (c *Comparison) End(t *testing.T, least int) {
	t.Helper()
	for n, e := range c.table {
		for _, name := range strings.Fields(e.Families) {
			if !c.used[fmt.Sprint(n, name)] {
				t.Errorf("%s, %s: %s: ours %q, Karpenter's %q: explains no difference: take it out of the table", name, e.Instance, e.Place, e.Ours, e.Theirs)
			}
		}
	}
	if c.compared < least {
		t.Errorf("compared %d settings: the test looks at the wrong place", c.compared)
	}
	t.Logf("%d settings compared, %d explanations of what differs", c.compared, len(c.table))
}
