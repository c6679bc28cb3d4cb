package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func main() { bench.Main("versus", run) }

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("versus", flag.ContinueOnError)
	peer := flags.String("peer", "", "the program of tools/peer")
	wanted := regexp.MustCompile(".")
	flags.TextVar(wanted, "case", wanted, "regular expression: the cases to run")
	list := flags.Bool("list", false, "list the cases")
	seed := flags.Uint64("seed", 1, "of the inputs that are drawn")
	keep := flags.String("out", "", "the file that keeps the results for the table")
	version := flags.String("version", "", "of the decision core")
	alone := flags.String("decide", "", "decide on this case in this process, and print the result as JSON; versus calls itself so")
	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // flag has said it all
	}
	results := bench.Comparisons{}
	for _, c := range bench.Compared() {
		if c.Name == *alone {
			return decide(w, c, *seed)
		}
		if *alone != "" || !wanted.MatchString(c.Name) {
			continue
		}
		if *list {
			_, _ = fmt.Fprintf(w, "%-18s %s\n", c.Name, c.Title)
			continue
		}
		r, err := compare(ctx, w, *peer, c, *seed)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		r.Ours.Version = *version
		results[c.Name] = r
	}
	for _, name := range slices.Sorted(maps.Keys(bench.ComparedFleets())) {
		if *alone != "" || !wanted.MatchString(name) {
			continue
		}
		if *list {
			_, _ = fmt.Fprintf(w, "%-18s a fleet that was scaled in: the nodes that are to go\n", name)
			continue
		}
		r, err := consolidate(ctx, w, *peer, name, bench.ComparedFleets()[name], *seed)
		if err != nil {
			return err
		}
		results[name] = r
	}
	if len(results) == 0 {
		return nil
	}
	if *keep != "" {
		if err := results.Write(*keep); err != nil {
			return err
		}
	}
	return table(w, results)
}

func compare(ctx context.Context, w io.Writer, peer string, c bench.Case, seed uint64) (bench.Comparison, error) {
	r := bench.Comparison{Measured: time.Now().UTC(), Machine: bench.Here(), Seed: seed}
	_, _ = fmt.Fprintf(w, "%s: %s\n", c.Name, c.Title)
	self, err := os.Executable()
	if err != nil {
		return r, fmt.Errorf("own program find: %w", err)
	}
	text, err := process(ctx, w, nil, self, "-decide", c.Name, "-seed", strconv.FormatUint(seed, 10))
	if err != nil {
		return r, fmt.Errorf("core run: %w", err)
	}
	if err := json.Unmarshal(text, &r.Ours); err != nil {
		return r, fmt.Errorf("core's answer read: %w", err)
	}
	_, _ = fmt.Fprintf(w, "  ours:      %s\n", r.Ours)
	if r.Theirs, err = solve(ctx, w, peer, c, seed); err != nil {
		return r, err
	}
	_, _ = fmt.Fprintf(w, "  Karpenter: %s\n", r.Theirs)
	return r, nil
}

// decide is our side, in the process that compare starts for it.
func decide(w io.Writer, c bench.Case, seed uint64) error {
	s, err := c.Decide(seed)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(s); err != nil {
		return fmt.Errorf("answer write: %w", err)
	}
	return nil
}

// solve is the peer's side, in a process of its own.
func solve(ctx context.Context, w io.Writer, peer string, c bench.Case, seed uint64) (bench.Side, error) {
	setting, err := c.Setting()
	if err != nil {
		return bench.Side{}, err
	}
	pods, err := c.Pods(seed)
	if err != nil {
		return bench.Side{}, err
	}
	q, err := ask(setting, pods)
	if err != nil {
		return bench.Side{}, err
	}
	return put(ctx, w, peer, q, pods)
}

// put puts the question to the peer.
func put(ctx context.Context, w io.Writer, peer string, q question, pods []cluster.Pod) (bench.Side, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return bench.Side{}, fmt.Errorf("question write: %w", err)
	}
	out, err := process(ctx, w, text, peer)
	if err != nil {
		return bench.Side{}, fmt.Errorf("peer run: %w", err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return bench.Side{}, fmt.Errorf("peer answer read: %w", err)
	}
	nodes := make([]bench.Node, len(a.Nodes))
	for i, n := range a.Nodes {
		nodes[i] = bench.Node{Price: quantity.Money(math.Round(n.Price * quantity.NanoDollars)), Zones: n.Zones, Pods: n.Pods}
	}
	return bench.Side{
		Figures: bench.Read(pods, nodes, 0), Version: a.Version, Cold: seconds(a.Cold), Warm: seconds(a.Warm), Allocated: a.Allocated,
		Total: seconds(a.Total), Commands: a.Commands, Cut: a.Cut,
	}, nil
}

// consolidate has the peer say which nodes of fleets that were scaled in are to go. What
// the daemon makes of them is what make bench plays.
func consolidate(ctx context.Context, w io.Writer, peer string, name string, percent int, seed uint64) (bench.Comparison, error) {
	r := bench.Comparison{Measured: time.Now().UTC(), Machine: bench.Here(), Seed: seed}
	fleet, err := bench.ScaledIn(seed, percent)
	if err != nil {
		return r, fmt.Errorf("fleet %s: %w", name, err)
	}
	q, err := askFleet(fleet)
	if err != nil {
		return r, fmt.Errorf("fleet %s: %w", name, err)
	}
	_, _ = fmt.Fprintf(w, "%s: %d nodes with %d pods\n", name, len(q.Nodes), len(q.Pods))
	if r.Theirs, err = put(ctx, w, peer, q, fleet.Objects.Pods); err != nil {
		return r, fmt.Errorf("fleet %s: %w", name, err)
	}
	_, _ = fmt.Fprintf(w, "  Karpenter: %s\n", r.Theirs)
	return r, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// process runs the program, and says now and then that it is still at it.
func process(ctx context.Context, w io.Writer, in []byte, program string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // G204: this program, or the one that -peer names
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, os.Stderr
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- cmd.Run() }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return out.Bytes(), err
		case <-tick.C:
			_, _ = fmt.Fprintf(w, "             ... at it for %.0f s\n", time.Since(start).Seconds())
		}
	}
}

func table(w io.Writer, results bench.Comparisons) error {
	rows := [][]string{{
		"case", "Karpenter cold", "warm", "$/h", "nodes", "unplaced", "|", "ours cold", "warm", "$/h", "nodes", "unplaced", "bound $/h", "gap", "|",
		"faster cold", "warm", "cheaper",
	}}
	for _, c := range bench.Compared() {
		r, ok := results[c.Name]
		if !ok {
			continue
		}
		bound, gap := "-", "-"
		if g, ok := r.Ours.Gap(); ok {
			bound, gap = fmt.Sprintf("%.2f", float64(r.Ours.Bound)/quantity.NanoDollars), fmt.Sprintf("%.2f %%", g)
		}
		row := append(append([]string{c.Name}, cells(r.Theirs)...), "|")
		row = append(append(row, cells(r.Ours)...), bound, gap, "|")
		rows = append(rows, append(row, times(r.Theirs.Cold, r.Ours.Cold), times(r.Theirs.Warm, r.Ours.Warm),
			fmt.Sprintf("%.1f %%", 100*(1-r.Ours.Dollars()/r.Theirs.Dollars()))))
	}
	if len(rows) == 1 {
		return nil // fleets alone
	}
	_, _ = fmt.Fprintln(w)
	return bench.Align(w, "lrrrrrlrrrrrrrlrrr", rows)
}

func cells(s bench.Side) []string {
	return []string{bench.Span(s.Cold), bench.Span(s.Warm), fmt.Sprintf("%.2f", s.Dollars()), strconv.Itoa(s.Nodes), strconv.Itoa(s.Missing())}
}

func times(theirs, ours time.Duration) string {
	return fmt.Sprintf("%.0fx", theirs.Seconds()/ours.Seconds())
}
