package toolchain

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// version is major, minor, patch.
type version [3]int

var versionPattern = regexp.MustCompile(`\bv?(\d+)\.(\d+)\.(\d+)`)

// parseVersion finds the first version in what a program printed about itself.
func parseVersion(text string) (version, bool) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	var v version
	for i := range v {
		n, err := strconv.Atoi(m[i+1])
		if err != nil { // more digits than an int holds: not a version
			return version{}, false
		}
		v[i] = n
	}
	return v, true
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// fits reports whether a found version may stand in for what a tool asks for.
func (a accept) fits(v version) bool {
	if a.minor && (v[0] != a.atLeast[0] || v[1] != a.atLeast[1]) {
		return false
	}
	return cmp.Or(cmp.Compare(v[0], a.atLeast[0]), cmp.Compare(v[1], a.atLeast[1]), cmp.Compare(v[2], a.atLeast[2])) >= 0
}

// wants says in words which versions fit.
func (a accept) wants() string {
	if a.minor {
		return fmt.Sprintf("%d.%d", a.atLeast[0], a.atLeast[1])
	}
	return a.atLeast.String() + " or newer"
}
