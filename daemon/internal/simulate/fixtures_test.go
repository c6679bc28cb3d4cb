package simulate

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
)

// karpenterDump is of a cluster that Karpenter runs; testdata/README.md says how it was made.
const karpenterDump = "testdata/karpenter.json.gz"

// readDump reads the cluster of a dump, as the command does.
func readDump(t testing.TB, path string) *Cluster {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	c := NewCluster()
	found := dump.Found{Objects: c.AddNumbered}
	if err := found.Read(t.Context(), filepath.Base(path), file); err != nil {
		t.Fatal(err)
	}
	if err := c.AddFound(&found); err != nil {
		t.Fatal(err)
	}
	return c
}

// golden holds what is written to the text of the file, or writes that.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s reads otherwise; look at the change, then run with -update:\n%s", name, b.String())
	}
}

// Each change of these texts is looked at, as those of the node groups are.
func TestReport_OfAClusterThatKarpenterRunsReadsAsItsGoldenTexts(t *testing.T) {
	t.Parallel()
	r := run(t, readDump(t, karpenterDump), hour())
	agrees(t, &r.Forecast)
	golden(t, "karpenter.txt", r.WriteTable)
	golden(t, "karpenter.md", r.WriteMarkdown)
	golden(t, "karpenter.json", r.WriteJSON)
}

// agrees checks that the figures of a forecast do not contradict each other.
func agrees(t *testing.T, f *Forecast) {
	t.Helper()
	launched, removed, removedCost, launchedCost := 0, len(f.WouldRemove.List), 0.0, 0.0
	for _, x := range f.WouldLaunch {
		launched, launchedCost = launched+x.Nodes, launchedCost+x.CostPerHour
	}
	moves, reasons, stays := int64(0), 0, 0
	for _, x := range f.WouldRemove.List {
		removedCost, moves = removedCost+x.CostPerHour, moves+x.Pods
	}
	for _, x := range f.WouldRemove.Reasons {
		reasons += x.Nodes
	}
	for _, x := range f.Stays {
		stays += x.Nodes
	}
	instances := map[bool]float64{}
	for then, fleet := range map[bool]Fleet{false: f.Now, true: f.Then} {
		nodes := 0
		for _, p := range fleet.Pools {
			nodes += p.Nodes
			instances[then] += p.CostPerHour
		}
		if nodes != fleet.Nodes || fleet.CostPerHour < fleet.BoundPerHour || fleet.CostPerHour < instances[then]-near || fleet.CPUPercent > 100 || fleet.MemoryPercent > 100 {
			t.Errorf("then is %t: %d nodes in pools: %+v", then, nodes, fleet)
		}
	}
	if f.Now.Nodes+launched-removed != f.Then.Nodes || stays != f.Then.Nodes || reasons != removed || f.WouldRemove.Nodes != removed {
		t.Errorf("%d nodes, %d launched, %d removed (%d by reason), then %d, of which %d stay", f.Now.Nodes, launched, removed, reasons, f.Then.Nodes, stays)
	}
	if moves != f.WouldRemove.EvictedPods+int64(len(f.WouldRemove.LostPods)) {
		t.Errorf("%d moves, of the nodes %d, and %d pods lost", f.WouldRemove.EvictedPods, moves, len(f.WouldRemove.LostPods))
	}
	if math.Abs(removedCost-f.WouldRemove.CostPerHour) > near*float64(removed+1) || math.Abs(instances[false]+launchedCost-removedCost-instances[true]) > near*float64(launched+removed+1) {
		t.Errorf("instances cost %.4f, launched %.4f, removed %.4f (in all %.4f), then %.4f", instances[false], launchedCost, removedCost, f.WouldRemove.CostPerHour, instances[true])
	}
}

// near is by how much one rounded figure may be off, in dollars.
const near = 1e-4

// The figures of a report add up, whatever is asked of it.
func TestReport_ItsFiguresDoNotContradictEachOther(t *testing.T) {
	t.Parallel()
	karpenter := func() *Cluster { return readDump(t, karpenterDump) }
	for name, cluster := range map[string]func() *Cluster{"groups": groups, "crowd": func() *Cluster { return crowd(30, 600) }, "karpenter": karpenter} {
		for what, change := range map[string]func(*Options){
			"as it is": func(*Options) {}, "all nodes": func(o *Options) { o.Nodes = AllNodes }, "ten minutes": func(o *Options) { o.For = 10 * time.Minute },
			"a month": func(o *Options) { o.For = 731 * time.Hour }, "another seed": func(o *Options) { o.Seed = 7 },
		} {
			o := hour()
			change(&o)
			t.Run(name+", "+what, func(t *testing.T) { agrees(t, &run(t, cluster(), o).Forecast) })
		}
	}
}
