package launch

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestShare_IsThatOfWhatTheRoomHoldsLeastOfUnlessItIsNotAboveTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := func(name string) []int64 { return rapid.SliceOfN(rapid.Int64Range(-1, 1<<60), 3, 3).Draw(t, name) }
		content, room := amounts("content"), amounts("room")
		floor := rapid.OneOf(rapid.Int64Range(0, quantity.Whole), rapid.Just(quantity.Part(room[0], max(1, content[0])))).Draw(t, "floor")
		want := int64(quantity.Whole)
		for d, n := range content {
			if n > 0 {
				want = min(want, quantity.Part(room[d], n))
			}
		}
		if got := share(content, room, floor); got != max(want, floor) && (want > floor || got > floor) {
			t.Errorf("share %d, want %d; floor %d", got, want, floor)
		}
	})
}
