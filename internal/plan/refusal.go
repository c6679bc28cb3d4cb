package plan

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostNames is how many names a sentence lists before it counts the rest.
const mostNames = 8

// Ask is a label that a pod asks for, and what the nodes of a pool have of it.
type Ask struct {
	Key    string
	Values []string // asked for; nil where they cannot be listed
	Known  []string // values that nodes of the pool can have, sorted
	Keys   []string // where none has the label: the labels that they have, sorted
}

// NewAsk collects what there is of the label that the requirement is on, over
// the labels of every kind of node that the pool can launch.
func NewAsk(r label.Requirement, nodes iter.Seq[*label.Layers]) *Ask {
	known, keys := map[string]bool{}, map[string]bool{}
	for n := range nodes {
		for _, layer := range n {
			for _, l := range layer {
				keys[l.Key] = true
			}
		}
		if v, ok := n.Get(r.Key()); ok {
			known[v] = true
		}
	}
	a := &Ask{Key: r.Key(), Known: slices.Sorted(maps.Keys(known))}
	a.Values, _ = r.Values()
	if len(known) == 0 {
		a.Keys = slices.Sorted(maps.Keys(keys))
	}
	return a
}

// String makes one clause of a sentence.
func (r Refusal) String() string { return explainRefusals([]Refusal{r}) }

// explainRefusals says what each pool lacks, pools with the same reason together.
func explainRefusals(list []Refusal) string {
	type reason struct {
		text  string
		pools []string
	}
	var reasons []reason
	for _, r := range list {
		text := r.reason()
		i := slices.IndexFunc(reasons, func(x reason) bool { return x.text == text })
		if i < 0 {
			i, reasons = len(reasons), append(reasons, reason{text: text})
		}
		if r.Pool != "" {
			reasons[i].pools = append(reasons[i].pools, strconv.Quote(r.Pool))
		}
	}
	parts := make([]string, len(reasons))
	for i, x := range reasons {
		switch len(x.pools) {
		case 0:
			parts[i] = x.text
		case 1:
			parts[i] = "pool " + x.pools[0] + ": " + x.text
		default:
			parts[i] = "pools " + names(x.pools) + ": " + x.text
		}
	}
	return strings.Join(parts, "; ")
}

// reason is the refusal without its pool.
func (r Refusal) reason() string {
	switch {
	case r.Cause == LimitReached && r.Limit != nil:
		return r.Limit.reason()
	case r.Cause == TooLarge && r.Shortage != nil:
		largest := fmt.Sprintf("the largest of %d", r.Types)
		if r.Largest != "" {
			largest = r.Largest + ", " + largest + ","
		}
		return fmt.Sprintf("%s: %s %s", r.Cause, largest, lacks(*r.Shortage))
	case r.Cause == NoType && r.Ask != nil:
		return r.askReason()
	}
	text := string(r.Cause)
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	if r.Types > 0 {
		text += fmt.Sprintf(", %d instance types", r.Types)
	}
	return text
}

func (l Limit) reason() string {
	if l.Name == "nodes" {
		return fmt.Sprintf("limited to %s, and has %d", count(l.Max, "node"), l.Used)
	}
	text := fmt.Sprintf("limited to %s %s, and has %s", amount(l.Name, l.Max, 0), l.Name, amount(l.Name, l.Used, 0))
	if l.Adds > 0 {
		text += ", to which the smallest node that would do adds " + amount(l.Name, l.Adds, 0)
	}
	return text
}

func (r Refusal) askReason() string {
	a := r.Ask
	if len(a.Known) == 0 {
		text := fmt.Sprintf("none of its nodes has the label %q", a.Key)
		if meant, ok := closest(a.Key, a.Keys); ok {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
		return text
	}
	text := fmt.Sprintf("none of %d instance types meets %s; known values: %s", r.Types, r.Detail, names(a.Known))
	for _, v := range a.Values {
		if meant, ok := closest(v, a.Known); ok {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
	}
	return text
}

// closest returns the one word that differs from the given one in few letters,
// where there is exactly one.
func closest(word string, known []string) (string, bool) {
	best, at, alone := len(word)/4+1, "", false
	for _, k := range known {
		switch d := distance(word, k); {
		case d == 0 || d > best:
		case d < best || at == "":
			best, at, alone = d, k, true
		default:
			alone = false
		}
	}
	return at, alone
}

// distance is how many letters have to be added, dropped or changed (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// lacks says what is short and by how much, in the coarsest unit that shows it.
func lacks(s quantity.Shortage) string {
	fine := 0
	for fine < 3 && amount(s.Resource, s.Need, fine) == amount(s.Resource, s.Free, fine) {
		fine++
	}
	return fmt.Sprintf("lacks %s (needs %s, has %s)", s.Resource, amount(s.Resource, s.Need, fine), amount(s.Resource, s.Free, fine))
}

// amount renders so much of a resource: CPUs with up to three decimals, bytes in
// Gi with up to one, or in Mi, Ki or bytes if it is to be finer.
func amount(resource string, n int64, fine int) string {
	if n < 0 {
		return "-" + amount(resource, -max(n, -math.MaxInt64), fine)
	}
	switch resource {
	case quantity.CPU:
		return decimal(n, 1000, 3)
	case quantity.Memory, quantity.EphemeralStorage:
		switch {
		case fine == 0 && n >= 1<<30:
			return decimal(n, 1<<30, 1) + "Gi"
		case fine <= 1 && n >= 1<<20:
			return decimal(n, 1<<20, 0) + "Mi"
		case fine <= 2 && n >= 1<<10:
			return decimal(n, 1<<10, 0) + "Ki"
		}
	}
	return strconv.FormatInt(n, 10)
}

// decimal is n/unit, cut off after so many decimals, without trailing zeros.
func decimal(n, unit int64, decimals int) string {
	rest, digits := n%unit, ""
	for range decimals {
		rest *= 10
		digits += strconv.FormatInt(rest/unit, 10)
		rest %= unit
	}
	text := strconv.FormatInt(n/unit, 10)
	if digits = strings.TrimRight(digits, "0"); digits != "" {
		text += "." + digits
	}
	return text
}

func names(list []string) string {
	if len(list) > mostNames {
		return strings.Join(list[:mostNames], ", ") + fmt.Sprintf(" and %d more", len(list)-mostNames)
	}
	return strings.Join(list, ", ")
}

func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
