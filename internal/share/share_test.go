package share_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

func TestOf_EachShareHasItsPartAndAllSharesHaveAllCases(t *testing.T) {
	for _, cases := range [][]int{{1}, {1, 2, 3}, {1, 2, 3, 4, 5, 6, 7}} {
		for n := 1; n <= 9; n++ {
			seen := map[int]bool{}
			for commit := range 60 {
				t.Setenv(share.Variable, fmt.Sprint("commit ", commit))
				mine := share.Of("a test", n, cases)
				if least := max(1, len(cases)/n); len(mine) < least || len(mine) > least+1 {
					t.Errorf("one in %d of %d cases: %v", n, len(cases), mine)
				}
				if again := share.Of("a test", n, cases); !slices.Equal(mine, again) {
					t.Errorf("one commit draws %v and %v", mine, again)
				}
				for _, c := range mine {
					seen[c] = true
				}
			}
			if len(seen) < len(cases) {
				t.Errorf("one in %d of %d cases: 60 commits play %d", n, len(cases), len(seen))
			}
		}
	}
}

func TestOf_TestsDoNotAllDrawTheSame(t *testing.T) {
	t.Setenv(share.Variable, "a commit")
	drawn := map[int]bool{}
	for i := range 60 {
		drawn[share.Of(fmt.Sprint("test ", i), 4, []int{0, 1, 2, 3})[0]] = true
	}
	if len(drawn) != 4 {
		t.Errorf("60 tests draw %v", drawn)
	}
}

func TestOf_AllCasesArePlayedWhereAllAreAskedFor(t *testing.T) {
	t.Setenv(share.Variable, share.All)
	if all := share.Of("a test", 5, []int{1, 2, 3}); len(all) != 3 || !share.Whole() {
		t.Errorf("played are %v", all)
	}
	if none := share.Of("a test", 5, []int(nil)); len(none) != 0 {
		t.Errorf("of nothing %v is played", none)
	}
}
