package consolidate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever nodes come, are removed and fill, the index names each node that has room
// once, and none that is removed.
func TestIndex_NamesEveryNodeWithRoom(t *testing.T) {
	t.Parallel()
	amount := rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, 200_000))
	draw := func(t *rapid.T) (v vector) {
		v[0], v[1] = amount.Draw(t, "cpu"), amount.Draw(t, "memory")<<20
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		var nodes []node
		var x index
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			i := rapid.IntRange(0, len(nodes)).Draw(t, "node")
			switch {
			case i == len(nodes):
				for range rapid.IntRange(1, 70).Draw(t, "more") {
					x.stale = append(x.stale, len(nodes))
					nodes = append(nodes, node{free: draw(t)})
				}
			case rapid.Bool().Draw(t, "goes"):
				nodes[i].removed = !nodes[i].removed
			case rapid.IntRange(0, 5).Draw(t, "shrinks") == 0:
				for k := i; k < len(nodes); k++ {
					x.stale = append(x.stale, k)
				}
				nodes = nodes[:i]
			default:
				nodes[i].free = draw(t)
			}
			x.stale = append(x.stale, i)
			x.see(nodes)
			need := draw(t)
			var named []int
			x.each(&need, rapid.IntRange(0, 9).Draw(t, "from"), func(i int) bool { named = append(named, i); return true })
			slices.Sort(named)
			if once := slices.Compact(slices.Clone(named)); len(once) < len(named) {
				t.Fatalf("named twice: %v", named)
			}
			for i := range nodes {
				if !nodes[i].removed && need.fits(&nodes[i].free) && !slices.Contains(named, i) {
					t.Fatalf("node %d with %v free is not named for %v", i, nodes[i].free, need)
				}
				if nodes[i].removed && slices.Contains(named, i) {
					t.Fatalf("node %d has gone and is named", i)
				}
			}
			if len(named) > 0 && named[len(named)-1] >= len(nodes) {
				t.Fatalf("%v of %d nodes", named, len(nodes))
			}
		}
	})
}

func TestLevelOf_GrowsWithTheAmountAboutTwiceAnOctave(t *testing.T) {
	t.Parallel()
	for amount, want := range map[int64]int{-5: 1, 0: 1, 1: 2, 2: 4, 3: 5, 4: 6, 5: 6, 6: 7, 7: 7, 8: 8, 1 << 29: 60, 1 << 40: levels - 1} {
		if got := levelOf(amount); got != want {
			t.Errorf("level of %d is %d, want %d", amount, got, want)
		}
	}
}
