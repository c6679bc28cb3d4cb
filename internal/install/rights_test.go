package install

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The end-to-end tests record what the daemon asks of the API server in used.txt: make
// test-lab compares a run of all of them with the record, and go test -tags lab
// ./internal/lab/e2e -update writes it. unused.txt has by hand what is granted for what no
// such run does, or not each, with the reason.
func TestRules_EveryRightIsUsedOrHasAReason(t *testing.T) {
	used, unused := lines(t, "used.txt"), lines(t, "unused.txt")
	granted := map[string]bool{}
	o := options().withDefaults()
	o.SchedulerConfig = "podTopologySpread: {}" // which needs further rights
	for _, rules := range [][]rbacv1.PolicyRule{o.clusterRules(), o.leaseRules(), o.configMapRules()} {
		for _, r := range rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						granted[verb+" "+strings.TrimPrefix(group+"/"+resource, "/")] = true
					}
				}
			}
		}
	}
	for _, right := range slices.Sorted(maps.Keys(granted)) {
		_, is := used[right]
		if reason := unused[right]; is == (reason != "") {
			t.Errorf("%s: is granted and used (%t), or has the reason %q: take it away, or give it one of both", right, is, reason)
		}
	}
	for right := range unused {
		if !granted[right] {
			t.Errorf("%s: is not granted, and needs no reason", right)
		}
	}
}

// lines are those of a file of testdata: what comes after a colon, by what is before it.
func lines(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(content)) {
		right, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[right] = reason
	}
	return out
}
