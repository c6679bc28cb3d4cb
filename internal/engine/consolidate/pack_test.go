package consolidate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// What is skipped by this bound can be no better: a row never holds more.
func TestMostWorth_IsAtLeastWhatARowIsFilledWith(t *testing.T) {
	t.Parallel()
	filled := 0
	rapid.Check(t, func(t *rapid.T) {
		q := drawnFleet(t)
		s := &Search{Question: &q}
		s.shadow = newShadow(s.Question)
		s.perMilliCPU, s.perMiB = rapid.Int64Range(0, 50_000).Draw(t, "CPU"), rapid.Int64Range(0, 50_000).Draw(t, "memory")
		r := offer.Row{Left: -1, Zones: 1, Price: 1, Net: quantity.Resources{
			MilliCPU: rapid.Int64Range(-100, 9000).Draw(t, "milli"), MemoryBytes: rapid.Int64Range(-1<<20, 32<<30).Draw(t, "bytes"), EphemeralBytes: 1 << 40, PodSlots: rapid.Int64Range(0, 40).Draw(t, "slots"),
		}}
		s.rows = []*offer.Row{&r}
		s.priceFrom(0)
		var parts []part
		var pods int64
		for i := range s.classes {
			c := &s.classes[i]
			c.taken = []uint64{1}
			if rapid.IntRange(0, 3).Draw(t, "without requests") == 0 {
				c.need[0], c.need[1] = 0, 0
				s.priceFrom(0)
			}
			n := rapid.Int64Range(1, 9).Draw(t, "pods")
			parts, pods = append(parts, part{i, n}), pods+n
		}
		slices.Reverse(parts)
		s.counts = make([]int64, len(parts))
		wish(parts, s)
		worth, _ := s.fill(0, &r, 0)
		if most := mostWorth(r.Net, s.perMilliCPU, s.perMiB, pods); worth > most {
			t.Fatalf("the row is filled with %d, and holds %d", worth, most)
		}
		if worth > 0 {
			filled++
		}
	})
	if filled == 0 {
		t.Error("no row took a pod")
	}
}
