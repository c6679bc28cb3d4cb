package plan_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

var update = flag.Bool("update", false, "write the cells of the guide's first table anew")

const disruptionGuide = "../../templates/guides/disruption.md"

func TestReasons_EveryReasonIsListedAndHasTraits(t *testing.T) {
	var listed []string
	for _, why := range plan.Reasons() {
		listed = append(listed, string(why))
		if why.Traits() == plan.DeleteReason("another").Traits() {
			t.Errorf("%s has no traits of its own, only those of an unknown reason", why)
		}
	}
	declared := constants(t, "DeleteReason")
	slices.Sort(listed)
	slices.Sort(declared)
	if !slices.Equal(listed, declared) {
		t.Errorf("Reasons lists %q, and the constants are %q", listed, declared)
	}
}

// Each rule is about any reason, those that are still to come among them.
func TestTraits_AgreeWithEachOther(t *testing.T) {
	rules := []struct {
		text  string
		holds func(plan.Traits) bool
	}{
		{"what budgets bound is voluntary", func(x plan.Traits) bool { return !x.Budgets || x.Voluntary }},
		{"budgets bound what they can name", func(x plan.Traits) bool { return !x.InBudgets || x.Budgets }},
		{"only what is voluntary asks", func(x plan.Traits) bool { return x.Voluntary || !x.AsksNode && !x.AsksPods }},
		{"who asks the pods asks the node", func(x plan.Traits) bool { return !x.AsksPods || x.AsksNode }},
		{"only those that are asked are asked for a time", func(x plan.Traits) bool { return !x.UntilGrace || x.AsksPods }},
		{"at the end of its life, a node with a grace period asks no pods", func(x plan.Traits) bool { return !x.Expires || x.UntilGrace }},
		{"what saves money is bounded by budgets, for whatever is set", func(x plan.Traits) bool { return !x.Saves || x.Budgets && !x.UntilGrace }},
		{"nobody asks for a saving", func(x plan.Traits) bool { return !x.Saves || !x.Asked }},
		{"nothing but what forces the daemon evicts all at once", func(x plan.Traits) bool { return x.Voluntary == (x.Pace != plan.AllAtOnce) }},
		{"who asked does not wait without end", func(x plan.Traits) bool { return !x.Asked || x.Pace != plan.Careful }},
		{"what nobody asked for and nothing forces hurts nobody", func(x plan.Traits) bool { return !x.Voluntary || x.Asked || x.AsksPods && x.Pace == plan.Careful }},
		{"a pool is deleted because a user asked", func(x plan.Traits) bool { return !x.WithPool || x.Asked }},
		{"a notice and a node that does not come up force the daemon", func(x plan.Traits) bool { return !x.Notice && x.Lacks == "" || !x.Voluntary && !x.Asked }},
	}
	for _, why := range append(plan.Reasons(), "another") {
		for _, rule := range rules {
			if x := why.Traits(); !rule.holds(x) {
				t.Errorf("%s: %s, but it has %+v", why, rule.text, x)
			}
		}
	}
}

// Nodes that are due are deleted one reason after the other.
func TestTraits_NoTwoReasonsHaveTheSamePrecedence(t *testing.T) {
	has := map[int]plan.DeleteReason{}
	for _, why := range plan.Reasons() {
		n := why.Traits().Precedence
		if other, taken := has[n]; taken && n != 0 {
			t.Errorf("%s and %s have the precedence %d", other, why, n)
		}
		has[n] = why
	}
}

// What forced the daemon may be over, such as a notice that cannot be read any more. What is
// written on the node must not take it away without care then.
func TestAnnounced_WhatForcedTheDaemonForcesNothingAnyMore(t *testing.T) {
	for _, why := range append(plan.Reasons(), "another") {
		got, want := why.Announced(), why.Traits()
		if !want.Voluntary {
			want = plan.DeleteReason("another").Traits()
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", why, got, want)
		}
		if !got.Asked && (!got.AsksNode || !got.PodsKeep(0) || got.Pace != plan.Careful) {
			t.Errorf("%s: nobody asked for it, and it does not ask: %+v", why, got)
		}
	}
}

func TestTraits_PodsKeepTheNodeUntilTheGracePeriod(t *testing.T) {
	for _, c := range []struct {
		why            plan.DeleteReason
		without, grace bool
	}{
		{plan.Underutilized, true, true},
		{plan.Drifted, true, false},
		{plan.Surplus, false, false},
		{plan.Interrupted, false, false},
	} {
		if x := c.why.Traits(); x.PodsKeep(0) != c.without || x.PodsKeep(time.Hour) != c.grace {
			t.Errorf("%s: without a grace period %t, with one %t; want %t and %t", c.why, x.PodsKeep(0), x.PodsKeep(time.Hour), c.without, c.grace)
		}
	}
}

// The first table of the guide says what each reason means, and what follows from it: that is
// what the traits say.
func TestGuide_FirstTableSaysTheTraits(t *testing.T) {
	text, err := os.ReadFile(disruptionGuide)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| reason | what it means | budgets | PodDisruptionBudgets and `karpenter.sh/do-not-disrupt` | replicas that no PodDisruptionBudget selects |\n|---|---|---|---|---|\n"
	before, after, found := strings.Cut(string(text), head)
	table, rest, _ := strings.Cut(after, "\n\n")
	if !found {
		t.Fatalf("the guide has no table %q", head)
	}
	var rows []string
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		var follows string
		for reason := range strings.SplitSeq(cells[0], ", ") {
			x := effects(plan.DeleteReason(strings.Trim(reason, "`")).Traits())
			if follows != "" && follows != x {
				t.Errorf("%s: the reasons of one row have different traits", cells[0])
			}
			follows = x
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", cells[0], cells[1], follows))
	}
	want := strings.Join(rows, "\n")
	switch {
	case *update:
		if err := os.WriteFile(disruptionGuide, []byte(before+head+want+"\n\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
	case table != want:
		t.Errorf("go test ./internal/plan -run TestGuide -update writes the table:\n%s", want)
	}
}

// effects are the cells of the guide that the traits say.
func effects(x plan.Traits) string {
	budgets, pods, pace := "no", "the drain obeys them", "all at once"
	if x.Budgets {
		budgets = "yes"
	}
	switch {
	case x.Lacks != "":
		pods = "no pods run there"
	case x.Notice:
		pods = "until the deadline of the notice"
	case x.Empty:
		pods = "a pod or node that must not be disrupted keeps the node"
	case x.PodsKeep(time.Hour):
		pods = "yes"
	case x.PodsKeep(0):
		pods = "yes, unless `termination_grace_period` is set"
	}
	switch {
	case x.Lacks != "" || x.Empty:
		pace = "none run there"
	case x.Expires:
		pace = "a quarter at a time while the others are ready; all at once after `expire_after` if `termination_grace_period` is set"
	case x.Pace == plan.Careful:
		pace = "a quarter at a time, while the others are ready"
	case x.Pace == plan.Patient:
		pace = "a quarter at a time"
	}
	return budgets + " | " + pods + " | " + pace
}
