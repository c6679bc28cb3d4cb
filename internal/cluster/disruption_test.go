package cluster

import "testing"

// Karpenter's formula: a Deployment's order of scaling down, and priorities, say what an
// eviction costs.
func TestPod_EvictionCostGrowsWithDeletionCostAndPriorityUpToTen(t *testing.T) {
	for _, c := range []struct {
		deletion, priority int32
		want               int64
	}{
		{0, 0, 1000},
		{1 << 27, 0, 2000},
		{0, 1 << 25, 2000},
		{1 << 26, 1 << 24, 2000},
		{-1 << 27, 0, 0},
		{-1 << 31, -1 << 31, 0},
		{1<<31 - 1, 2_000_001_000, 10_000},
		{100, 1000, 1000},
	} {
		p := Pod{DeletionCost: c.deletion, Shape: Shape{Priority: c.priority}}
		if got := p.EvictionCost(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
