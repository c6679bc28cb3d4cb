// Command constants shows what each constant of the engine that was chosen, and not
// derived, does: it builds the engine with another value in its place, has it decide on
// the same drawn demand (BenchmarkConstants of internal/bench), and prints how cost,
// bound and work change against today's value. Constants that decide when nodes go have a table of their own: what fleets cost over the bound, how many pods are evicted and how many
// nodes launched in demand that comes and goes, and after a scale-down
// (BenchmarkMoveConstants). All but step-ms, which is noisy, is the same in each run, and kB
// nearly so:
//
//	constants [-only regexp]
//
// It must run in the root of the repository. The engine's source stays as it is: each
// build gets the changed file as an overlay. `make bench-constants` runs it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

func main() { bench.Main("constants", run) }

// subject is constants of one kind, and how they are measured.
type subject struct {
	benchmark string
	figures   []string // units that the table has
	constants []constant
}

func subjects() []subject {
	return []subject{
		{"BenchmarkConstants", []string{
			"m$/h", "bound-m$/h", bench.UnitUnplaced, "fills", "units", "kB", "step-ms", "arrivals-m$/h", "arrivals-launches",
		}, constants()},
		{"BenchmarkMoveConstants", []string{
			"waves-over-%", "waves-evictions", "waves-launches", "cron-over-%", "cron-evictions", "cron-launches",
			"scaled-over-%", "scaled-wasted-%", "scaled-evictions", "scaled-launches", bench.UnitRepeated,
		}, moveConstants()},
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("constants", flag.ContinueOnError)
	wanted := regexp.MustCompile(".")
	flags.TextVar(wanted, "only", wanted, "regular expression: the constants to change, as in pack.hardly")
	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // flag has said it all
	}
	for _, s := range subjects() {
		s.constants = pick.Those(s.constants, func(c constant) bool { return wanted.MatchString(c.String()) })
		if len(s.constants) == 0 {
			continue
		}
		if err := s.table(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// table measures each constant with its other values.
func (s subject) table(ctx context.Context, w io.Writer) error {
	today, err := s.measure(ctx, "", nil)
	if err != nil {
		return err
	}
	rows := [][]string{append([]string{"constant", "today", "instead"}, s.figures...), append([]string{"all as today", "", ""}, s.values(today)...)}
	for _, c := range s.constants {
		source, err := os.ReadFile(c.file)
		if err != nil {
			return fmt.Errorf("constant %s read: %w", c, err)
		}
		for _, other := range c.others {
			changed, before, err := c.set(source, other)
			if err != nil {
				return err
			}
			row := []string{c.String(), before, valueFor(other, before)}
			_, _ = fmt.Fprintf(w, "%s: %s instead of %s\n", c, row[2], before)
			m, err := s.measure(ctx, c.file, changed)
			if err != nil {
				// A value that makes no plan, or no proof, says something about the constant, too.
				row = append(row, "failed: "+err.Error())
				row = append(row, make([]string, len(s.figures)-1)...)
			} else {
				row = append(row, s.changes(today, m)...)
			}
			rows = append(rows, row)
		}
	}
	_, _ = fmt.Fprintln(w)
	return bench.Align(w, "lll"+strings.Repeat("r", len(s.figures)), rows)
}

// measure runs the benchmark with the file's text changed, if one is named.
func (s subject) measure(ctx context.Context, file string, text []byte) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", "constants")
	if err != nil {
		return nil, fmt.Errorf("folder make: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	replaced := map[string]string{}
	if file != "" {
		there, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("file %s find: %w", file, err)
		}
		replaced[there] = filepath.Join(dir, "changed.go")
		if err := os.WriteFile(filepath.Join(dir, "changed.go"), text, 0o600); err != nil { //nolint:gosec // G703: in a folder that was just made
			return nil, fmt.Errorf("file write: %w", err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, fmt.Errorf("overlay write: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return nil, fmt.Errorf("overlay write: %w", err)
	}
	//nolint:gosec // G204: the go command, with a file of ours
	out, err := exec.CommandContext(ctx, "go", "test", "-overlay="+path, "-run=^$", "-bench=^"+s.benchmark+"$", "-benchtime=1x", "./internal/bench").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return read(string(out), s.benchmark), nil
}

// read takes the figures out of the benchmark's line.
func read(out, benchmark string) map[string]float64 {
	m := map[string]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[0], benchmark) {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				m[fields[i+1]] = v
			}
		}
	}
	return m
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(bytes.ReplaceAll(out, []byte("\nFAIL"), nil))), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (s subject) values(m map[string]float64) (out []string) {
	for _, unit := range s.figures {
		out = append(out, strconv.FormatFloat(m[unit], 'f', -1, 64))
	}
	return out
}

// changes are in per cent of today's figure, and pods without a node in pods.
func (s subject) changes(today, m map[string]float64) (out []string) {
	for _, unit := range s.figures {
		switch diff := m[unit] - today[unit]; {
		case diff == 0:
			out = append(out, ".")
		case unit == bench.UnitUnplaced, unit == bench.UnitRepeated, today[unit] == 0:
			out = append(out, fmt.Sprintf("%+.0f", diff))
		default:
			out = append(out, fmt.Sprintf("%+.3f %%", 100*diff/today[unit]))
		}
	}
	return out
}
