package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
)

func TestTable_TakesKarpentersFiguresOnlyFromWhatWasMeasured(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "peer.json")
	row := func() string {
		var out bytes.Buffer
		if err := run(strings.NewReader("BenchmarkCore/w1-2  10  5000000 ns/op\n"), &out, file); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(out.String(), "\nw1: ")
		return line
	}
	if line := row(); !strings.Contains(line, "run make bench-peer") || strings.Contains(line, "$") {
		t.Errorf("without the file: %q", line)
	}
	one := bench.Comparison{Measured: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Machine: bench.Here(), Theirs: bench.Side{
		Figures: bench.Figures{Cost: 12_340_000_000, Nodes: 5}, Version: "v9.8.7", Cold: 3 * time.Second, Warm: 2 * time.Second,
	}}
	fleet := one
	fleet.Theirs.Total, fleet.Theirs.Commands, fleet.Theirs.Cut = 90*time.Second, 7, true
	other := one
	other.Machine = bench.Machine{CPU: "Abacus", Cores: 3}
	for _, c := range []struct {
		kept bench.Comparisons
		want string
	}{
		{bench.Comparisons{"w1": one}, "3.0 s cold, 2.0 s warm, 0.0 MB, $12.34/h, 5 nodes, 2026-03-04, v9.8.7  "},
		{bench.Comparisons{"w1": fleet}, "90.0 s for 7 commands, 2.0 s each, then $12.34/h, 5 nodes, and not at its end, 2026-03-04, v9.8.7  "},
		{bench.Comparisons{"w1": one}, "3.0 s cold"},
		{bench.Comparisons{"w4": one}, "3.0 s cold, 2.0 s warm, 0.0 MB, $12.34/h, 5 nodes, 2026-03-04, v9.8.7  "},
		{bench.Comparisons{"w1": other}, "2026-03-04, v9.8.7, on another machine (3 x Abacus)"},
	} {
		if err := c.kept.Write(file); err != nil {
			t.Fatal(err)
		}
		if line := row(); !strings.Contains(line, c.want) {
			t.Errorf("%q is not in %q", c.want, line)
		}
	}
}

func TestTable_JoinsRunsWithRequirements(t *testing.T) {
	t.Parallel()
	const in = `goos: linux
BenchmarkCore/w1-2  10  5000000 ns/op  350.0 $/h  1.25 gap-%  240 nodes  0 unplaced  1000000 B/op  12 allocs/op
BenchmarkCore/w1-2  10  7000000 ns/op  350.0 $/h  1.25 gap-%  240 nodes  0 unplaced  1000000 B/op  12 allocs/op
BenchmarkCore/w1-2  10  9000000 ns/op  350.0 $/h  1.25 gap-%  240 nodes  0 unplaced  1000000 B/op  12 allocs/op
BenchmarkCore/w4-2  10  90000000 ns/op  300.0 $/h  1.25 gap-%  240 nodes  3 unplaced  1000000 B/op  12 allocs/op
BenchmarkArrivals/pods=1000/at-once/full-2  1  5000000 ns/op  7.5 %over  6.0 %required  3.0 %settled  0.1 wait-s  0.9 wait95-s
BenchmarkArrivals/pods=1000/at-once  1  5000000 ns/op  7.5 %over  6.0 %required  3.0 %settled  0.1 wait-s  0.9 wait95-s
BenchmarkArrivalsServices/boot=2s-2  1  5000000 ns/op  6.5 %over  13.0 %worst-over  1.1 x-nodes  1.3 x-worst-nodes  0.5 last-launch-s  1.5 worst-last-launch-s
PASS
`
	var out bytes.Buffer
	if err := run(strings.NewReader(in), &out, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), in) {
		t.Errorf("the output is not passed on: %q", out.String())
	}
	var w1, w4, arrivals, onOne, services string
	for line := range strings.Lines(strings.TrimPrefix(out.String(), in)) {
		switch {
		case strings.HasPrefix(line, "w1:"):
			w1 = line
		case strings.HasPrefix(line, "w4:"):
			w4 = line
		case strings.HasPrefix(line, "arrivals, pods=1000/at-once/full "):
			arrivals = line
		case strings.HasPrefix(line, "arrivals, pods=1000/at-once "):
			onOne = line
		case strings.HasPrefix(line, "arriving services, boot=2s "):
			services = line
		}
	}
	if !strings.Contains(w1, "7 ms, 1 MB, $350.00/h, gap 1.25 %, 240 nodes") || !strings.HasSuffix(w1, "yes\n") {
		t.Errorf("row of a case that meets everything: %q", w1)
	}
	if !strings.HasSuffix(w4, "NO: time, unplaced pods\n") {
		t.Errorf("row of a case that is too slow and leaves pods: %q", w4)
	}
	if onOne == "" {
		t.Errorf("a name without a number of processors is not kept whole: %q", out.String())
	}
	if !strings.Contains(services, "cost over the bound <= 7.0 %, at worst <= 12.0 %") || !strings.HasSuffix(services, "NO: at worst\n") {
		t.Errorf("row of services that cost too much at worst: %q", services)
	}
	if !strings.Contains(arrivals, "<= 6 % over the bound") || !strings.HasSuffix(arrivals, "NO: cost\n") {
		t.Errorf("row of arrivals that cost too much: %q", arrivals)
	}
}
