package knapsack_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/knapsack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// brute is the most that any content of the room is worth.
func brute(kinds []knapsack.Kind, room []int64) (most int64) {
	if len(kinds) == 0 {
		return 0
	}
	k := &kinds[0]
	room = append([]int64(nil), room...)
	for n := int64(0); n <= k.Most; n++ {
		most = max(most, n*k.Worth+brute(kinds[1:], room))
		for d, need := range k.Need {
			if need > 0 && d >= len(room) {
				return most
			}
			if d < len(room) {
				if room[d] -= need; room[d] < 0 {
					return most
				}
			}
		}
	}
	return most
}

func draw(t *rapid.T) (kinds []knapsack.Kind, room []int64) {
	dims := rapid.IntRange(1, 3).Draw(t, "resources")
	for range dims {
		room = append(room, rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(1<<40, 1<<41)).Draw(t, "room"))
	}
	for range rapid.IntRange(0, 5).Draw(t, "kinds") {
		k := knapsack.Kind{Worth: rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(1<<52, 1<<53)).Draw(t, "worth"), Most: rapid.Int64Range(0, 6).Draw(t, "most")}
		for d := range dims {
			k.Need = append(k.Need, rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1+room[d]/2)).Draw(t, "need"))
		}
		kinds = append(kinds, k)
	}
	return kinds, room
}

func TestBest_NoContentIsWorthMore(t *testing.T) {
	t.Parallel()
	var s knapsack.Solver
	rapid.Check(t, func(t *rapid.T) {
		kinds, room := draw(t)
		above, limit := rapid.SampledFrom([]int64{0, 7, 1 << 52}).Draw(t, "above"), rapid.SampledFrom([]int{0, 3, 20, math.MaxInt}).Draw(t, "limit")
		got, want := s.Best(kinds, room, above, limit), brute(kinds, room)
		if got.Steps > limit || limit == math.MaxInt && got.Cut {
			t.Fatalf("%d steps, cut: %v", got.Steps, got.Cut)
		}
		if got.Most < want || !got.Cut && got.Most != max(want, above) {
			t.Fatalf("the most is %d, brute force says %d", got.Most, want)
		}
		if got.Count == nil {
			if got.Worth != above {
				t.Fatalf("no content, but a worth of %d", got.Worth)
			}
			return
		}
		var worth int64
		for d := range room {
			used := int64(0)
			for k, n := range got.Count {
				used += n * kinds[k].Need[d]
			}
			if used > room[d] {
				t.Fatalf("the content %v needs %d of %d", got.Count, used, room[d])
			}
		}
		for k, n := range got.Count {
			if n < 0 || n > kinds[k].Most {
				t.Fatalf("%d pods of %d", n, kinds[k].Most)
			}
			worth += n * kinds[k].Worth
		}
		if worth != got.Worth || worth <= above {
			t.Fatalf("the content is worth %d, said is %d, above %d", worth, got.Worth, above)
		}
	})
}

// Where a search is cut, the bound is what the room is worth if it is all for the
// kind that is worth most in it.
func TestBest_ACutSearchSaysWhatSetsItsBound(t *testing.T) {
	t.Parallel()
	var s knapsack.Solver
	rapid.Check(t, func(t *rapid.T) {
		kinds, room := draw(t)
		got := s.Best(kinds, room, 0, 0)
		if !got.Cut || got.Fits == nil {
			return
		}
		most := 0.0
		for k, n := range got.Fits {
			if n == 0 && kinds[k].Most > 0 && quantity.Fits(kinds[k].Need, room) {
				t.Fatalf("kind %d, worth %d, fits the room, which is for none of it", k, kinds[k].Worth)
			}
			most = max(most, float64(kinds[k].Worth)*float64(n)/1024)
		}
		if d := float64(got.Most) - most; d < -most/256 || d > most/256+float64(8<<20) {
			t.Fatalf("the bound is %d, the best kind alone is worth %.0f", got.Most, most)
		}
	})
}
