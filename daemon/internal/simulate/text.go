package simulate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A page is the report as headings, sentences and tables, which each format writes in its way.
type page struct {
	title string
	parts []part
}

type part struct {
	heading string
	lines   []string   // sentences, or one item of a list each
	table   [][]string // the first row is the head
	after   []string   // sentences below the table
}

// money has as many decimals as matter.
func money(d float64) string {
	switch {
	case d < 0:
		return "-" + money(-d)
	case d >= 100:
		return "$" + thousands(d)
	case d > 0 && d < 0.1:
		return fmt.Sprintf("$%.4f", d)
	}
	return fmt.Sprintf("$%.2f", d)
}

func monthly(d float64) string { return "$" + thousands(d*HoursPerMonth) }

// thousands is the rounded number with a comma between each three digits.
func thousands(d float64) string {
	text := fmt.Sprintf("%.0f", d)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// above is how far a cost is above its bound.
func above(x Fleet) string {
	switch {
	case x.BoundPerHour == 0:
		return "-"
	case x.GapPercent >= 1000:
		return fmt.Sprintf("%.0f times", x.GapPercent/100+1)
	}
	return fmt.Sprintf("%.1f %%", x.GapPercent)
}

// brief keeps the first two clauses of a reason; JSON has all.
func brief(why string) string {
	if parts := strings.SplitN(why, "; ", 3); len(parts) == 3 {
		return parts[0] + "; " + parts[1]
	}
	return why
}

func count(n int64, noun string) string { return quantity.Count(n, noun) }

// page makes the page of the report.
func (r *Report) page() page {
	p := page{title: "What karpenterd would make of this cluster"}
	intro := part{lines: []string{
		fmt.Sprintf("Region %s, cluster as of %s. Prices: %s.", r.Region, r.Time, r.Prices),
		map[Nodes]string{OwnedNodes: "Nodes of NodePools may be replaced; all others stay.", AllNodes: "All nodes may be replaced, those of node groups and other autoscalers included."}[r.Nodes],
	}}
	if r.Scratch {
		intro.lines = append(intro.lines, "The nodes that may be replaced are left out, as if their fleet were launched from nothing.")
	}
	p.parts = []part{intro, r.Forecast.summary(r.Scratch)}
	if r.Observed != nil {
		p.parts = append(p.parts, r.Observed.part())
	}
	if r.Advised {
		p.parts = append(p.parts, r.advice())
	}
	p.parts = append(p.parts, r.Forecast.details()...)
	if len(r.NotCarriedOut) > 0 {
		not := part{heading: "Not carried out", table: [][]string{{"Object", "Field", "What happens", "Remedy"}}}
		for _, u := range r.NotCarriedOut {
			not.table = append(not.table, []string{u.Object, u.Field, u.What, u.Remedy})
		}
		p.parts = append(p.parts, not)
	}
	if r.With != nil {
		p.parts = append(p.parts, r.compared())
		for _, x := range append([]part{r.With.summary(r.Scratch)}, r.With.details()...) {
			if x.heading != "" {
				x.heading = "With the changes: " + strings.ToLower(x.heading[:1]) + x.heading[1:]
			}
			p.parts = append(p.parts, x)
		}
	}
	if len(r.Notes) > 0 {
		p.parts = append(p.parts, part{heading: "Notes", lines: r.Notes})
	}
	return p
}

// summary compares the fleet now and then.
func (f *Forecast) summary(scratch bool) part {
	row := func(name string, x Fleet) []string {
		return []string{
			name, fmt.Sprint(x.Nodes), fmt.Sprint(x.Pods), money(x.CostPerHour), monthly(x.CostPerHour), money(x.BoundPerHour),
			above(x), fmt.Sprintf("%.0f %%", x.CPUPercent), fmt.Sprintf("%.0f %%", x.MemoryPercent),
		}
	}
	out := part{heading: "Now and then", table: [][]string{{"", "Nodes", "Pods", "An hour", "A month", "At least", "Above", "CPU", "Memory"}, row("now", f.Now), row("then", f.Then)}}
	if scratch {
		out.table[2][0] = "anew"
	}
	out.after = []string{f.verdict(), `"At least" is what no fleet for the pods of its row can cost less than, proven; "above" is how far the cost is above it.`}
	if n := f.Now.PodsWaiting; n > 0 {
		out.after = append(out.after, fmt.Sprintf(`Row "now" is for the pods that run: it is without %s that %s now.`, count(n, "pod"), waits(n)))
	}
	if n := len(f.WouldRemove.LostPods); n > 0 {
		out.after = append(out.after, fmt.Sprintf("Of the pods, %d would be lost: no controller creates them anew.", n))
	}
	if n := f.Then.PodsElsewhere - f.Now.PodsElsewhere; n > 0 && !scratch {
		out.after = append(out.after, fmt.Sprintf("%s would run on nodes of no NodePool, which have room for them.", count(n, "pod")))
	}
	if f.Foreign.Nodes > 0 {
		out.after = append(out.after, fmt.Sprintf("Beside these, %s of no NodePool at %s an hour stay.", count(int64(f.Foreign.Nodes), "node"), money(f.Foreign.CostPerHour)))
		if n := f.Foreign.Unpriced; n > 0 {
			out.after = append(out.after, fmt.Sprintf("Of these, the price of %d is not known and not counted.", n))
		}
	}
	if n := len(f.Now.Unpriced); n > 0 {
		out.after = append(out.after, fmt.Sprintf("Nobody knows the price of %s, such as %s: neither these nor their pods are in the figures.", count(int64(n), "node"), f.Now.Unpriced[0]))
	}
	return out
}

func waits(n int64) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

// verdict says in one sentence what changes.
func (f *Forecast) verdict() string {
	after := "after " + duration(f.Changed)
	if !f.Settled {
		after += ", and more would follow"
	}
	switch s := f.Saving(); {
	case f.WouldRemove.Nodes == 0 && len(f.WouldLaunch) == 0 && f.Settled:
		return "Nothing would change."
	case f.WouldRemove.Nodes == 0 && len(f.WouldLaunch) == 0:
		return fmt.Sprintf("Nothing would change within %s, and something may after that.", duration(f.Played))
	case s >= 0:
		return fmt.Sprintf("The fleet would cost %s less an hour (%.1f %%), which is %s a month, %s.", money(s), f.SavingPercent(), monthly(s), after)
	default:
		return fmt.Sprintf("The fleet would cost %s more an hour (%.1f %%), %s: nodes are launched for pods that wait, or for static NodePools.", money(-s), -f.SavingPercent(), after)
	}
}

func duration(seconds int64) string {
	switch {
	case seconds < 60:
		return count(seconds, "second")
	case seconds < 7200:
		return count((seconds+30)/60, "minute")
	}
	return count((seconds+1800)/3600, "hour")
}

func (f *Forecast) details() (out []part) {
	launch := part{heading: "Would launch", lines: []string{"Nothing."}}
	if len(f.WouldLaunch) > 0 {
		launch.lines, launch.table = nil, [][]string{{"Nodes", "Type", "Capacity", "NodePool", "Pods", "An hour", "Why"}}
		for _, x := range f.WouldLaunch {
			launch.table = append(launch.table, []string{fmt.Sprint(x.Nodes), x.Type, x.CapacityType, x.Pool, fmt.Sprint(x.Pods), money(x.CostPerHour), brief(x.Why)})
		}
	}
	out = append(out, launch, f.removed())
	if drifting, compared := f.drifting(); compared {
		out = append(out, drifting)
	}
	return append(out, f.staying(), f.waiting())
}

// listed is how many nodes a text lists one by one.
const listed = 10

func (f *Forecast) removed() part {
	r := &f.WouldRemove
	out := part{heading: "Would remove", lines: []string{"Nothing."}}
	if r.Nodes == 0 {
		return out
	}
	out.lines = []string{fmt.Sprintf("%s, whose instances cost %s an hour; %s of pods.", count(int64(r.Nodes), "node"), money(r.CostPerHour), count(r.EvictedPods, "move"))}
	if r.Launched > 0 {
		out.lines = append(out.lines, fmt.Sprintf("Of these, %d would have been launched meanwhile.", r.Launched))
	}
	var why []string
	for _, x := range r.Reasons {
		why = append(why, fmt.Sprintf("%d %s", x.Nodes, x.Why))
	}
	out.lines = append(out.lines, "Why: "+strings.Join(why, ", ")+".")
	if len(r.LostPods) > 0 {
		out.lines = append(out.lines, fmt.Sprintf("No controller would create anew: %s.", some(r.LostPods)))
	}
	out.table = [][]string{{"Node", "Type", "NodePool", "An hour", "Pods", "Why", "After"}}
	for _, x := range r.List[:min(listed, len(r.List))] {
		out.table = append(out.table, []string{x.Node, x.Type, x.Pool, money(x.CostPerHour), fmt.Sprint(x.Pods), x.Why, duration(x.Seconds)})
	}
	if n := len(r.List) - listed; n > 0 {
		out.after = []string{fmt.Sprintf("And %d more; -o json lists all.", n)}
	}
	return out
}

func some(names []string) string {
	if len(names) > examples {
		return strings.Join(names[:examples], ", ") + fmt.Sprintf(" and %d more", len(names)-examples)
	}
	return strings.Join(names, ", ")
}

func (f *Forecast) staying() part {
	out := part{heading: "Would stay", lines: []string{"No node."}}
	if len(f.Stays) > 0 {
		out.lines, out.table = nil, [][]string{{"Nodes", "Reason", "For example"}}
		for _, x := range f.Stays {
			out.table = append(out.table, []string{fmt.Sprint(x.Nodes), x.Reason, x.Example})
		}
	}
	return out
}

func (f *Forecast) waiting() part {
	out := part{heading: "Cannot be placed", lines: []string{"No pod waits."}}
	if len(f.CannotBePlaced) > 0 {
		out.lines, out.table = nil, [][]string{{"Pods", "Such as", "Why"}}
		for _, x := range f.CannotBePlaced {
			out.table = append(out.table, []string{fmt.Sprint(x.Pods), strings.Join(x.Example, ", "), x.Why})
		}
	}
	return out
}

// compared sets the two forecasts side by side, by pool.
func (r *Report) compared() part {
	out := part{heading: "With the changes", table: [][]string{{"NodePool", "As it is", "With", "Difference"}}}
	row := func(name string, a, b float64, n, m int) {
		out.table = append(out.table, []string{
			name, fmt.Sprintf("%s, %s", count(int64(n), "node"), money(a)), fmt.Sprintf("%s, %s", count(int64(m), "node"), money(b)), money(b - a),
		})
	}
	seen := map[string]bool{}
	for _, list := range [][]Pool{r.Then.Pools, r.With.Then.Pools} {
		for _, x := range list {
			if seen[x.Name] {
				continue
			}
			seen[x.Name] = true
			a, b := poolIn(r.Then.Pools, x.Name), poolIn(r.With.Then.Pools, x.Name)
			row(x.Name, a.CostPerHour, b.CostPerHour, a.Nodes, b.Nodes)
		}
	}
	row("in all, with volumes", r.Then.CostPerHour, r.With.Then.CostPerHour, r.Then.Nodes, r.With.Then.Nodes)
	return out
}

func poolIn(all []Pool, name string) Pool {
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	return Pool{Name: name}
}

// WriteTable writes the report for a terminal.
func (r *Report) WriteTable(to io.Writer) error {
	p := r.page()
	var b strings.Builder
	for _, x := range p.parts {
		if x.heading != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(x.heading))
		}
		for _, line := range x.lines {
			fmt.Fprintln(&b, line)
		}
		if len(x.table) > 0 {
			w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			for i, row := range x.table {
				line := strings.TrimRight(strings.Join(row, "\t"), "\t")
				if i == 0 {
					line = strings.ToUpper(line)
				}
				fmt.Fprintln(w, line)
			}
			if err := w.Flush(); err != nil {
				return fmt.Errorf("report write: %w", err)
			}
		}
		for _, line := range x.after {
			fmt.Fprintln(&b, line)
		}
	}
	return write(to, b.String())
}

// WriteMarkdown writes the report as GitHub's Markdown.
func (r *Report) WriteMarkdown(to io.Writer) error {
	p := r.page()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.title)
	for _, x := range p.parts {
		if x.heading != "" {
			fmt.Fprintf(&b, "\n## %s\n", x.heading)
		}
		list := ""
		if len(x.lines) > 1 {
			list = "- "
		}
		if len(x.lines) > 0 {
			b.WriteByte('\n')
		}
		for _, line := range x.lines {
			fmt.Fprintf(&b, "%s%s\n", list, escaped(line))
		}
		for i, row := range x.table {
			if i == 0 {
				b.WriteByte('\n')
			}
			cells := make([]string, len(row))
			for k, c := range row {
				cells[k] = strings.ReplaceAll(escaped(c), "|", `\|`)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(row)))
			}
		}
		if len(x.after) > 0 {
			fmt.Fprintf(&b, "\n%s\n", escaped(strings.Join(x.after, " ")))
		}
	}
	return write(to, b.String())
}

// escaped keeps Markdown from reading names as markup.
func escaped(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}

func write(to io.Writer, text string) error {
	if _, err := io.WriteString(to, text); err != nil {
		return fmt.Errorf("report write: %w", err)
	}
	return nil
}
