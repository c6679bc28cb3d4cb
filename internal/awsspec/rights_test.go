package awsspec

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The end-to-end tests record in used.txt which actions the simulated IAM was asked for and
// allowed to the daemon's role; unused.txt has the others with their reasons. See the test of
// the rules in package install.
func TestControllerPolicies_EveryActionIsUsedOrHasAReason(t *testing.T) {
	used, unused := lines(t, "used.txt"), lines(t, "unused.txt")
	in := input("lab")
	in.QueueKeyARN = "arn:aws:kms:us-west-2:123456789012:key/k"
	allowed := map[string]bool{}
	for _, p := range ControllerPolicies(in) {
		for _, s := range parse(t, p.Document).Statement {
			for _, action := range s.Action {
				allowed[action] = true
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(allowed)) {
		_, is := used[action]
		if reason := unused[action]; is == (reason != "") {
			t.Errorf("%s: is allowed and used (%t), or has the reason %q: take it away, or give it one of both", action, is, reason)
		}
	}
	for action := range unused {
		if !allowed[action] {
			t.Errorf("%s: is not allowed, and needs no reason", action)
		}
	}
}

// lines are those of a file of testdata: what comes after a colon and a space, by what is
// before them.
func lines(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(content)) {
		action, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[action] = reason
	}
	return out
}
