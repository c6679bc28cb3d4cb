// Package record writes what Steps decided as readable lines, so that a change of
// the engine shows which plans it changes, and how.
//
// It owns the format. One line for each Step says what is bought, what is done,
// which pods have no place, the cost and the bound. The line ends with the hash of
// everything that the plan says: two plans have the same line exactly if they are
// equal to the last bit. Tests keep files of such lines. Costs are dollars an hour.
package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Line returns the line of one Step. The name says which input it was, seed
// included.
func Line(name string, out engine.Output) (string, error) {
	sum, err := Hash(out.Plan)
	if err != nil {
		return "", fmt.Errorf("%s record: %w", name, err)
	}
	parts := append([]string{name + ":"}, bought(out.Plan)...)
	for _, what := range []struct {
		count func(plan.Action) bool
		word  string
	}{
		{isA[plan.Nominate], "nominated"}, {isA[plan.Bind], "bound"}, {isA[plan.Release], "released"}, {isA[plan.Close], "closed"}, {isA[plan.Disrupt], "disrupted"}, {isA[plan.Restore], "restored"}, {isA[plan.Delete], "deleted"},
	} {
		if n := count(out.Plan.Actions, what.count); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s,", n, what.word))
		}
	}
	verdicts := map[plan.Verdict]int64{}
	for _, o := range out.Plan.Outcomes {
		verdicts[o.Verdict] += int64(len(o.Pods))
	}
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		parts = append(parts, fmt.Sprintf("%d %s,", verdicts[v], v))
	}
	var bound quantity.Money
	for _, c := range out.Plan.Proofs {
		bound += c.Bound
	}
	parts = append(parts, fmt.Sprintf("%s (bound %s), %d units", out.Plan.Total().Dollars(), bound.Dollars(), out.Trace.Units), fmt.Sprintf("%x", sum[:8]))
	return strings.Join(parts, " "), nil
}

func isA[A plan.Action](a plan.Action) bool {
	_, ok := a.(A)
	return ok
}

func count(actions []plan.Action, match func(plan.Action) bool) (n int) {
	for _, a := range actions {
		if match(a) {
			n++
		}
	}
	return n
}

// bought returns the launches by pool and best type.
func bought(p plan.Plan) []string {
	kinds := map[string]int{}
	for _, a := range p.Actions {
		if l, ok := a.(plan.Launch); ok {
			best := "nothing"
			if len(l.Types) > 0 {
				best = l.Types[0].Type
			}
			kinds[l.Pool+"/"+best]++
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%dx %s,", kinds[kind], kind))
	}
	return parts
}

// Hash returns the hash of everything that a plan says.
func Hash(p plan.Plan) ([sha256.Size]byte, error) {
	all, err := Canonical(p)
	return sha256.Sum256(all), err
}

// Canonical returns everything that a plan says, as text.
func Canonical(p plan.Plan) ([]byte, error) {
	var all []byte
	write := func(x any) error {
		text, err := json.Marshal(x)
		if err != nil {
			return fmt.Errorf("plan write: %w", err)
		}
		all = append(fmt.Appendf(all, "%T ", x), append(text, '\n')...)
		return nil
	}
	for _, a := range p.Actions {
		if err := write(a); err != nil {
			return nil, err
		}
		// Requirements have no exported fields.
		if l, ok := a.(plan.Launch); ok {
			all = append(all, l.Requirements.String()+"\n"...)
		}
	}
	said := []any{p.Outcomes, p.Cost, p.Proofs, false} // as recorded plans have it
	if p.Extra != (plan.Extra{}) {
		said = append(said, p.Extra)
	}
	if len(p.Lacking) > 0 {
		said = append(said, p.Lacking)
	}
	for _, x := range said {
		if err := write(x); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// most is how many differences Compare shows.
const most = 10

// Compare compares the lines with the text of a file of such lines. It returns
// which lines differ and how; the empty text if none differs.
func Compare(known string, lines []string) string {
	before := strings.Split(strings.TrimSuffix(known, "\n"), "\n")
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return "(none)"
	}
	var differences []string
	for i := range max(len(lines), len(before)) {
		if was, now := at(before, i), at(lines, i); was != now {
			differences = append(differences, "was "+was+"\nnow "+now)
		}
	}
	if len(differences) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d plans are not as recorded:\n%s", len(differences), len(before), strings.Join(differences[:min(most, len(differences))], "\n"))
}
