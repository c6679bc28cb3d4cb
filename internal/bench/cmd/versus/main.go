package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("versus", flag.ContinueOnError)
	peer := flags.String("peer", "", "the program of tools/peer")
	only := flags.String("case", ".", "regular expression: the cases to run")
	list := flags.Bool("list", false, "list the cases")
	seed := flags.Uint64("seed", 1, "of the inputs that are drawn")
	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // flag has said it all
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-case: %w", err)
	}
	var results []result
	for _, c := range bench.Compared() {
		if !wanted.MatchString(c.Name) {
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
		results = append(results, r)
	}
	if len(results) > 0 {
		return table(w, results)
	}
	return nil
}

// result is one case, decided by both.
type result struct {
	name         string
	theirs, ours side
}

type side struct {
	bench.Figures

	took      time.Duration
	allocated uint64 // bytes
}

func compare(ctx context.Context, w io.Writer, peer string, c bench.Case, seed uint64) (result, error) {
	base, err := c.Base()
	if err != nil {
		return result{}, err
	}
	pods, err := c.Pods(seed)
	if err != nil {
		return result{}, err
	}
	_, _ = fmt.Fprintf(w, "%s: %s\n", c.Name, c.Title)
	ours, err := step(base, c, seed)
	if err != nil {
		return result{}, err
	}
	_, _ = fmt.Fprintf(w, "  ours:      %s\n", ours)
	theirs, err := solve(ctx, w, peer, base.Setting, pods)
	if err != nil {
		return result{}, err
	}
	_, _ = fmt.Fprintf(w, "  Karpenter: %s\n", theirs)
	return result{c.Name, theirs, ours}, nil
}

// step decides on the same input a few times, indexed anew each time, and
// returns the median.
func step(base bench.Base, c bench.Case, seed uint64) (side, error) {
	const times, enough = 5, 5 * time.Second
	var took []time.Duration
	var s side
	for begun := time.Now(); len(took) < times && time.Since(begun) < enough; {
		in, pods, err := c.Prepare(base, seed)
		if err != nil {
			return side{}, err
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		out := engine.Step(in)
		took = append(took, time.Since(start))
		runtime.ReadMemStats(&after)
		s.Figures, s.allocated = bench.ReadOutput(pods, out), after.TotalAlloc-before.TotalAlloc
	}
	slices.Sort(took)
	s.took = took[len(took)/2]
	return s, nil
}

// solve asks the peer, and says now and then that it is still at it.
func solve(ctx context.Context, w io.Writer, peer string, s bench.Setting, pods []cluster.Pod) (side, error) {
	q, err := ask(s, pods)
	if err != nil {
		return side{}, err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return side{}, fmt.Errorf("question write: %w", err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, peer)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, os.Stderr
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- cmd.Run() }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case err = <-done:
			waiting = false
		case <-tick.C:
			_, _ = fmt.Fprintf(w, "             ... Karpenter has been at it for %.0f s\n", time.Since(start).Seconds())
		}
	}
	if err != nil {
		return side{}, fmt.Errorf("peer run: %w", err)
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return side{}, fmt.Errorf("peer answer read: %w", err)
	}
	nodes := make([]bench.Node, len(a.Nodes))
	for i, n := range a.Nodes {
		nodes[i] = bench.Node{Price: quantity.Money(math.Round(n.Price * quantity.NanoDollars)), Zones: n.Zones, Pods: n.Pods}
	}
	return side{bench.Read(pods, nodes, 0), time.Duration(a.Seconds * float64(time.Second)), a.Allocated}, nil
}

func (s side) String() string {
	text := fmt.Sprintf("%s, %.1f MB, $%.2f/h, %d nodes", s.time(), float64(s.allocated)/1e6, s.dollars(), s.Nodes)
	if s.Satisfied > 0 {
		text += fmt.Sprintf(", preferences of weight %d met", s.Satisfied)
	}
	for _, k := range bench.Kinds() {
		if n := s.Unplaced[k]; n > 0 {
			text += fmt.Sprintf(", %d unplaced (%s)", n, k)
		}
	}
	return text
}

func (s side) time() string {
	if s.took > time.Second {
		return fmt.Sprintf("%.1f s", s.took.Seconds())
	}
	return fmt.Sprintf("%.1f ms", s.took.Seconds()*1000)
}

func (s side) dollars() float64 { return float64(s.Cost) / quantity.NanoDollars }

func table(w io.Writer, results []result) error {
	rows := [][]string{{
		"case", "Karpenter", "$/h", "nodes", "unplaced", "|", "ours", "$/h", "nodes", "unplaced", "bound $/h", "gap", "|", "faster", "cheaper",
	}}
	for _, r := range results {
		bound, gap := "-", "-"
		if g, ok := r.ours.Gap(); ok {
			bound, gap = fmt.Sprintf("%.2f", float64(r.ours.Bound)/quantity.NanoDollars), fmt.Sprintf("%.2f %%", g)
		}
		rows = append(rows, []string{
			r.name, r.theirs.time(), fmt.Sprintf("%.2f", r.theirs.dollars()), strconv.Itoa(r.theirs.Nodes), strconv.Itoa(r.theirs.Missing()), "|",
			r.ours.time(), fmt.Sprintf("%.2f", r.ours.dollars()), strconv.Itoa(r.ours.Nodes), strconv.Itoa(r.ours.Missing()), bound, gap, "|",
			fmt.Sprintf("%.0fx", r.theirs.took.Seconds()/r.ours.took.Seconds()), fmt.Sprintf("%.1f %%", 100*(1-r.ours.dollars()/r.theirs.dollars())),
		})
	}
	_, _ = fmt.Fprintln(w)
	return bench.Align(w, "lrrrrlrrrrrrlrr", rows)
}
