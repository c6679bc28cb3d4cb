package price_test

import (
	"math"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

func TestCover_HoldsTheDemandAtTheLeastCost(t *testing.T) {
	alone := func(row int, price64 int64) price.Content {
		return price.Content{Rows: []int{row}, Count: []int64{1}, Price: price64}
	}
	pair := func(a, b int, price64 int64) price.Content {
		return price.Content{Rows: []int{a, b}, Count: []int64{1, 1}, Price: price64}
	}
	two := price.Content{Rows: []int{0}, Count: []int64{2}, Price: 15}
	for _, tc := range []struct {
		name     string
		demand   []int64
		contents []price.Content
		want     []int64
	}{
		{"the better of two", []int64{3}, []price.Content{alone(0, 10), two}, []int64{0, 1536}},
		{"what is more than the demand is left alone", []int64{1}, []price.Content{alone(0, 10), two}, []int64{1024, 0}},
		{"what goes together is bought first", []int64{2, 5}, []price.Content{alone(0, 10), alone(1, 10), pair(0, 1, 12)}, []int64{0, 3 * 1024, 2 * 1024}},
		{"together only where it pays", []int64{2, 5}, []price.Content{alone(0, 10), alone(1, 10), pair(0, 1, 21)}, []int64{2 * 1024, 5 * 1024, 0}},
		{"an odd cycle takes halves", []int64{1, 1, 1}, []price.Content{alone(0, 10), alone(1, 10), alone(2, 10), pair(0, 1, 10), pair(1, 2, 10), pair(0, 2, 10)}, []int64{0, 0, 0, 512, 512, 512}},
		{"nothing holds it", []int64{1, 1}, []price.Content{alone(0, 10)}, []int64{1024}},
		{"no demand", []int64{0}, []price.Content{alone(0, 10)}, []int64{0}},
		{"huge numbers", []int64{math.MaxInt64}, []price.Content{alone(0, math.MaxInt64)}, []int64{1 << 50}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, pivots := price.Cover(tc.demand, tc.contents, 100)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v after %d pivots, want %v", got, pivots, tc.want)
			}
		})
	}
}

func TestCover_MakesNoMorePivotsThanItMay(t *testing.T) {
	contents := []price.Content{{Rows: []int{0}, Count: []int64{1}, Price: 1}, {Rows: []int{1}, Count: []int64{1}, Price: 1}}
	for most := range 3 {
		if _, pivots := price.Cover([]int64{1, 1}, contents, most); pivots != most {
			t.Errorf("%d pivots of %d", pivots, most)
		}
	}
	if got, _ := price.Cover([]int64{1, 1}, contents, -1); got[0] != 0 {
		t.Errorf("amounts %v without work", got)
	}
}
