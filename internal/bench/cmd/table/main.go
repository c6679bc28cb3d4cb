// Command table reads what `go test -bench` prints about internal/bench, passes
// it on as it comes, and ends with a table: every row with what Karpenter takes
// for the same, what is required, what was measured, and whether that meets it.
// Of several runs of a benchmark it shows the median of each figure. Karpenter's
// figures are from the file of `make bench-peer` alone, with the day they are of.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
)

func main() {
	peer := flag.String("peer", "", "the file that `make bench-peer` has written")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *peer); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, peer string) error {
	known, err := bench.ReadComparisons(peer)
	if err != nil {
		return err
	}
	runs := map[string]map[string][]float64{} // by row, by unit
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return fmt.Errorf("output pass on: %w", err)
		}
		read(runs, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("output read: %w", err)
	}
	if len(runs) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(out)
	return bench.Align(out, "lllll", table(runs, known))
}

// read takes a line as "BenchmarkCore/w1-2   30  4567890 ns/op  351.6 $/h". The
// row is named by what follows the first slash, without the number of
// processors, which is not there where it is one. Other benchmarks have no place
// in the table.
func read(runs map[string]map[string][]float64, line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return
	}
	benchmark, name, _ := strings.Cut(fields[0], "/")
	if benchmark != "BenchmarkCore" && benchmark != "BenchmarkDisruption" && !strings.HasPrefix(benchmark, "BenchmarkArrivals") {
		return
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.ParseUint(name[i+1:], 10, 64); err == nil {
			name = name[:i]
		}
	}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return
		}
		if runs[name] == nil {
			runs[name] = map[string][]float64{}
		}
		runs[name][fields[i+1]] = append(runs[name][fields[i+1]], value)
	}
}

func table(runs map[string]map[string][]float64, known bench.Comparisons) [][]string {
	rows := [][]string{{"case", "Karpenter", "required", "measured", "met"}}
	here := bench.Here()
	for _, r := range bench.Rows() {
		if runs[r.Name] == nil {
			continue
		}
		m := medians(runs[r.Name])
		rows = append(rows, []string{r.Title, known.Peer(r.Name, here), r.Required.String(), m.String(), verdict(r.Required.Missed(m))})
	}
	// Arrivals bring along what they must reach.
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		switch m := medians(runs[name]); {
		case len(runs[name][bench.UnitServices]) > 0:
			required, measured, missed := bench.ServicesRow(m)
			rows = append(rows, []string{"arriving services, " + name, "-", required, measured, verdict(missed)})
		case len(runs[name][bench.UnitArrivalsMay]) > 0:
			required := bench.ArrivalsRequired(m)
			rows = append(rows, []string{"arrivals, " + name, "-", required.String(), m.String(), verdict(required.Missed(m))})
		}
	}
	return rows
}

func medians(runs map[string][]float64) bench.Metrics {
	m := bench.Metrics{}
	for unit, values := range runs {
		slices.Sort(values)
		m[unit] = values[len(values)/2]
	}
	return m
}

func verdict(missed []string) string {
	if len(missed) == 0 {
		return "yes"
	}
	return "NO: " + strings.Join(missed, ", ")
}
