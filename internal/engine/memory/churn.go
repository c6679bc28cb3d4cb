package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// churnFor is how long evictions to save money count, and churnStep how far apart they are
// to be counted apart.
const churnFor, churnStep = 24 * time.Hour, time.Hour

// Churn says of each kind how often its pods were evicted to save money in the last day. It
// is sorted by kind, and never changed once it is in a memory.
type Churn []churned

type churned struct {
	kind  string
	hours []churnedIn // the earliest first; never empty
}

type churnedIn struct {
	from       time.Time // the second of the first eviction
	millionths int64     // of the pods of the kind that ran
}

// next returns the churn without what no longer counts.
func (c Churn) next(now time.Time) Churn {
	if !slices.ContainsFunc(c, func(x churned) bool { return x.hours[0].over(now) }) {
		return c
	}
	var out Churn
	for _, x := range c {
		if x.hours = pick.Those(x.hours, func(h churnedIn) bool { return !h.over(now) }); len(x.hours) > 0 {
			out = append(out, x)
		}
	}
	return out
}

func (h churnedIn) over(now time.Time) bool {
	return h.from.After(now) || !now.Before(h.from.Add(churnFor))
}

// With returns the churn with pods of the kind evicted now, of so many that run.
func (c Churn) With(kind string, pods, of int64, now time.Time) Churn {
	i, found := c.find(kind)
	out := slices.Clone(c)
	if !found {
		out = slices.Insert(out, i, churned{kind: kind})
	}
	hours := slices.Clone(out[i].hours)
	if n := len(hours); n == 0 || !now.Before(hours[n-1].from.Add(churnStep)) {
		// The API server gives pods the second in which they were created.
		hours = append(hours, churnedIn{from: now.Truncate(time.Second)})
	}
	hours[len(hours)-1].millionths += pods * 1_000_000 / max(1, of)
	out[i].hours = hours
	return out
}

func (c Churn) find(kind string) (int, bool) {
	return slices.BinarySearchFunc(c, kind, func(x churned, kind string) int { return strings.Compare(x.kind, kind) })
}

// Moved returns how often a pod of the kind was evicted to save money in the last day, on
// average, in millionths, and since when. Pods that are older have not moved.
func (c Churn) Moved(kind string) (millionths int64, since time.Time) {
	i, found := c.find(kind)
	if !found {
		return 0, time.Time{}
	}
	for _, h := range c[i].hours {
		millionths += h.millionths
	}
	return millionths, c[i].hours[0].from
}
