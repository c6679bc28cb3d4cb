package room

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Merged returns the slots sorted by kind, with one entry for each kind. It reuses
// the given slice.
func Merged(slots []cluster.Slot) []cluster.Slot {
	slices.SortFunc(slots, func(a, b cluster.Slot) int { return strings.Compare(a.Kind, b.Kind) })
	out := slots[:0]
	for _, x := range slots {
		if n := len(out); n > 0 && out[n-1].Kind == x.Kind {
			out[n-1].Count += x.Count
			continue
		}
		out = append(out, x)
	}
	return out
}
