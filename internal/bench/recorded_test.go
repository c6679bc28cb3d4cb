package bench

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/record"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

var update = flag.Bool("update", false, "write down the plans as they are now")

// recordedSeeds is how many inputs of each case are recorded.
const recordedSeeds = 2

// The plans of every row of the table, and of arrivals Step by Step, are as they
// were when somebody last looked at them. After a change that is meant to change
// none, none differs; else read what differs, and run with -update when it is
// right.
func TestStep_PlansOfTheTableAreAsRecorded(t *testing.T) {
	const file = "testdata/plans.txt"
	lines := append(recordedCases(t), recordedArrivals(t)...)
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if difference := record.Compare(string(known), lines); difference != "" {
		t.Error(difference)
	}
}

// recordedCases takes the first Step of each case, and the one after it, when its
// launches are on their way; w4 also polished.
func recordedCases(t *testing.T) (lines []string) {
	t.Helper()
	for _, c := range append(Cases(), Compared()[:3]...) {
		base, err := c.Base()
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(min(recordedSeeds, c.Seeds)) {
			in, _, err := c.Prepare(base, seed+1)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, lineOf(t, fmt.Sprintf("%s/seed-%d", c.Name, seed+1), engine.Step(in)))
			if c.Name == "w4" {
				in.Polish = 200
				lines = append(lines, lineOf(t, fmt.Sprintf("%s/seed-%d/polished", c.Name, seed+1), engine.Step(in)))
			}
		}
	}
	return lines
}

func lineOf(t *testing.T, name string, out engine.Output) string {
	t.Helper()
	line, err := record.Line(name, out)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// recordedArrivals plays pods that come one by one, with everything that the
// simulator has: a line for each Step that does something, and one for the run
// with the hash of all its Steps.
func recordedArrivals(t *testing.T) (lines []string) {
	t.Helper()
	for _, mode := range []sim.Mode{sim.Full, sim.NominationsOnly} {
		for _, sequence := range []bool{false, true} {
			if sequence && mode != sim.Full {
				continue // declared pods, which alone it is about, are not shown
			}
			for seed := uint64(1); seed <= recordedSeeds; seed++ {
				name := fmt.Sprintf("arrivals, %s/in-sequence-%t/seed-%d", mode, sequence, seed)
				cfg := arriving(t, seed, 60, 300, mode, sequence)
				all, n := sha256.New(), 0
				cfg.Seen = func(out engine.Output) {
					n++
					sum, err := record.Hash(out.Plan)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = all.Write(sum[:])
					if acts(out.Plan) {
						lines = append(lines, lineOf(t, fmt.Sprintf("%s/%d", name, n), out))
					}
				}
				r := sim.Run(cfg)
				lines = append(lines, fmt.Sprintf("%s: %d Steps, %d launches, %s when all run, %x", name, r.Steps, r.Launches, r.Cost.Dollars(), all.Sum(nil)[:8]))
			}
		}
	}
	return lines
}

// acts tells whether the plan does more than wait.
func acts(p plan.Plan) bool {
	for _, a := range p.Actions {
		if _, waits := a.(plan.Wait); !waits {
			return true
		}
	}
	return false
}
