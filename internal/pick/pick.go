// Package pick chooses: those of a list that are wanted, what is so before what is not, the earlier and the later
// of two times, the text that a misspelt one is nearest to. It owns the small choices that
// several packages make alike.
//
// Invariants: pure; nothing that is handed in is changed.
package pick

import (
	"slices"
	"time"
)

// First orders what is true before what is not.
func First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Those returns the elements of the list that are wanted, in a list of its own.
func Those[T any](list []T, wanted func(T) bool) []T {
	return slices.Clip(slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !wanted(x) }))
}

// Earliest returns the earlier of two times. A zero time does not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Distance is how many bytes have to be added, dropped or changed to turn a into
// b (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
