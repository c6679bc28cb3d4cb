package plan

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Ask is a label that a pod asks for, beside the values that nodes of a pool have.
type Ask struct {
	Key    string
	Values []string // that the pod asks for; nil where they cannot be listed
	Known  []string // values of Key that nodes of the pool can have, sorted
	Keys   []string // where no node of the pool has Key: the labels that its nodes have, sorted
}

// Vocabulary is the labels that the nodes of one pool can have.
type Vocabulary struct {
	keys   []string
	values map[string][]string // sorted
}

// NewVocabulary collects the labels of every kind of node that the pool can
// launch.
func NewVocabulary(nodes iter.Seq[label.Labels]) Vocabulary {
	found := map[string]map[string]bool{}
	for n := range nodes {
		for _, l := range n {
			if found[l.Key] == nil {
				found[l.Key] = map[string]bool{}
			}
			found[l.Key][l.Value] = true
		}
	}
	v := Vocabulary{keys: slices.Sorted(maps.Keys(found)), values: map[string][]string{}}
	for key, values := range found {
		v.values[key] = slices.Sorted(maps.Keys(values))
	}
	return v
}

// Ask compares the requirement with the labels that nodes of the pool have.
func (v Vocabulary) Ask(r label.Requirement) *Ask {
	a := &Ask{Key: r.Key(), Known: v.values[r.Key()]}
	a.Values, _ = r.Values()
	if len(a.Known) == 0 {
		a.Keys = v.keys
	}
	return a
}

// askReason says which label the pod asks for, and that no node of the pool has it.
func (r Refusal) askReason() string {
	a := r.Ask
	switch {
	case a.Key == label.NodeName || a.Key == label.Hostname:
		if len(a.Values) == 0 {
			return "the pod asks for a node by name, and the name of a new node is not known before it joins"
		}
		return fmt.Sprintf("the pod asks for a node by name (%s), and no new node has that name", names(a.Values))
	case len(a.Known) == 0:
		text := fmt.Sprintf("no node of the pool has the label %q", a.Key)
		if meant, ok := closest(a.Key, a.Keys); ok {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
		return text
	}
	text := fmt.Sprintf("none of %s meets %s; known values: %s", quantity.Count(int64(r.Types), "instance type"), r.Detail, names(a.Known))
	for _, v := range a.Values {
		if meant, ok := closest(v, a.Known); ok {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
	}
	return text
}

// closest returns the known text that a misspelt text may stand for: the one that
// differs in the fewest letters, if no other differs in as few. A text of fewer than
// four letters is left alone, since any two short texts differ in few letters.
func closest(word string, known []string) (string, bool) {
	best, at, alone := len(word)/8+1, "", false
	if len(word) < 4 {
		return "", false
	}
	for _, k := range known {
		if max(len(k)-len(word), len(word)-len(k)) > best {
			continue
		}
		switch d := pick.Distance(word, k); {
		case d == 0 || d > best:
		case d < best || at == "":
			best, at, alone = d, k, true
		default:
			alone = false
		}
	}
	return at, alone
}
