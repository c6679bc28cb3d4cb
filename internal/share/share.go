// Package share draws which of many alike cases a run of the tests plays. `make test` plays a
// share that its commit draws, so that commits take turns and all cases are played within
// days; `make test-all` plays all. Only tests import it.
//
// Each rule needs at least one case in each share: a test that is left out as a whole protects
// nothing.
package share

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
)

// Variable is the environment variable that says what is played: All, or any text, which
// draws a share. The same text draws the same share.
const Variable = "KARPENTERD_TEST_SHARE"

// All is the value of Variable that plays every case.
const All = "all"

// Whole tells whether all cases are played.
func Whole() bool { return os.Getenv(Variable) == All }

// Of returns the cases to play: all, or every n-th, from one that the share and the name draw.
// It returns at least one case if there is any. n is at least 1.
func Of[T any](name string, n int, cases []T) []T {
	if Whole() || len(cases) == 0 {
		return cases
	}
	n = min(n, len(cases))
	var mine []T
	for i := drawn(name) % n; i < len(cases); i += n {
		mine = append(mine, cases[i])
	}
	return mine
}

// drawn is a number of at least 0 that follows from the share and the name.
func drawn(name string) int {
	sum := sha256.Sum256([]byte(os.Getenv(Variable) + "\x00" + name))
	return int(binary.BigEndian.Uint32(sum[:]) >> 1)
}
