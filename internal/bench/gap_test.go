package bench

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

func TestCases_CostIsWithinTheGapOfTheBound(t *testing.T) {
	t.Parallel()
	for _, c := range Cases() {
		if c.Required.Gap == 0 || c.Limit > 0 { // a limit that does not bind changes no figure
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			base, err := c.Base()
			if err != nil {
				t.Fatal(err)
			}
			seeds := uint64(c.Seeds)
			if c.Name == "w1-50k-shaped" {
				seeds = 5 // the rest is the benchmark's, for the time it takes
			}
			var gaps []float64
			for seed := range seeds {
				in, pods, err := c.Prepare(base, seed+1)
				if err != nil {
					t.Fatal(err)
				}
				gap, ok := ReadOutput(pods, engine.Step(in)).Gap()
				if !ok || gap < 0 {
					t.Fatalf("seed %d: the gap is %v (known: %v)", seed+1, gap, ok)
				}
				gaps = append(gaps, gap)
			}
			slices.Sort(gaps)
			if m := gaps[len(gaps)/2]; m > c.Required.Gap {
				t.Errorf("the median of the gaps is %.2f %%, above %.2f %%: %.2f", m, c.Required.Gap, gaps)
			}
			if worst := gaps[len(gaps)-1]; c.Required.WorstGap > 0 && worst > c.Required.WorstGap {
				t.Errorf("the worst gap is %.2f %%, above %.2f %%: %.2f", worst, c.Required.WorstGap, gaps)
			}
		})
	}
}
