package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

var (
	reportedAt = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	origin     = Origin{Class: "default", Spec: "s", Image: "ami-1"}
)

func memory(n int64) quantity.Resources { return quantity.Resources{MemoryBytes: n} }

func (all Reports) memoryOf(instanceType string, now time.Time) int64 {
	return all.Of("default", "s", []string{"ami-1"}, now)[instanceType][quantity.Memory].Least
}

func TestReports_TheLeastOfAllNodesCountsUntilItIsTakenBackOrTooOld(t *testing.T) {
	var all Reports
	now := reportedAt
	for _, step := range []struct {
		node    string
		memory  int64
		after   time.Duration // the step before
		want    int64
		changed bool
	}{
		{"a", 100, 0, 100, true},
		{"b", 90, 0, 90, true},
		{"c", 95, 0, 90, false},
		{"b", 90, time.Hour, 90, false},     // it says so all day
		{"a", 90, 24 * time.Hour, 90, true}, // and the next one
		{"b", 97, time.Hour, 97, true},      // it has more than it said
		{"a", 80, time.Hour, 80, true},      // and is the last one for long
		{"c", 99, ReportLife - 1, 80, false},
		{"c", 99, 1, 99, true},
	} {
		now = now.Add(step.after)
		before := fmt.Sprint(all)
		next, changed := all.With(origin, "m5.large", step.node, memory(step.memory), now)
		if fmt.Sprint(all) != before {
			t.Errorf("%s reported %d: the value that was there is changed", step.node, step.memory)
		}
		all = next
		if got := all.memoryOf("m5.large", now); changed != step.changed || got != step.want {
			t.Errorf("%s reported %d: %d, changed %t; want %d, %t", step.node, step.memory, got, changed, step.want, step.changed)
		}
	}
}

// What is not yet reported is zero. It must not be taken for the size.
func TestReports_NothingIsLearnedFromNothing(t *testing.T) {
	var all Reports
	if next, changed := all.With(origin, "m5.large", "a", quantity.Resources{}, reportedAt); changed || len(next) > 0 {
		t.Errorf("learned %v", next)
	}
	gpus := memory(5).Add(quantity.Resources{MilliCPU: 1}).Extend("nvidia.com/gpu", 1)
	all, _ = all.With(origin, "m5.large", "a", gpus, reportedAt)
	if got := all[origin]["m5.large"]; len(got) != 2 {
		t.Errorf("learned %v, want cpu and memory alone", got)
	}
}

func TestReports_BeyondTheMostTheOldestGoes(t *testing.T) {
	var all Reports
	for i := range MostReports + 3 {
		all, _ = all.With(origin, fmt.Sprint("t", i), "a", memory(5), reportedAt.Add(time.Duration(i)*time.Second))
	}
	if n := len(all[origin]); n != MostReports {
		t.Fatalf("%d reports", n)
	}
	for i := range 4 {
		if _, there := all[origin][fmt.Sprint("t", i)]; there != (i == 3) {
			t.Errorf("t%d is there: %t", i, there)
		}
	}
}

func TestReports_MergedTheLesserCountsInWhateverOrder(t *testing.T) {
	one, _ := Reports{}.With(origin, "m5.large", "a", quantity.Resources{MilliCPU: 5, MemoryBytes: 9}, reportedAt)
	two, _ := Reports{}.With(origin, "m5.large", "b", quantity.Resources{MilliCPU: 6, MemoryBytes: 8}, reportedAt.Add(time.Hour))
	two, _ = two.With(Origin{Class: "other"}, "m5.large", "b", memory(3), reportedAt)
	for _, all := range []Reports{one.Merge(two), two.Merge(one)} {
		r := all[origin]["m5.large"]
		if r[quantity.CPU] != (Figure{Least: 5, Node: "a", Seen: reportedAt}) || r[quantity.Memory] != (Figure{Least: 8, Node: "b", Seen: reportedAt.Add(time.Hour)}) || len(all) != 2 {
			t.Errorf("merged %v", all)
		}
	}
}

// A type boots one of the class's images.
func TestReports_CountForTheClassSpecAndImagesThatAreAskedFor(t *testing.T) {
	var all Reports
	all, _ = all.With(origin, "m5.large", "a", memory(9), reportedAt)
	all, _ = all.With(Origin{"default", "s", "ami-2"}, "m5.large", "b", memory(8), reportedAt)
	for _, c := range []struct {
		class, spec string
		images      []string
		want        int64
	}{
		{"default", "s", []string{"ami-1"}, 9},
		{"default", "s", []string{"ami-1", "ami-2"}, 8},
		{"default", "s", []string{"ami-2", "ami-1"}, 8},
		{"default", "s", nil, 0},
		{"default", "x", []string{"ami-1"}, 0},
		{"x", "s", []string{"ami-1"}, 0},
	} {
		if got := all.Of(c.class, c.spec, c.images, reportedAt)["m5.large"][quantity.Memory].Least; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Three types of which the catalogue says the same report less. Then the others are taken to
// have less, too, as much as the best of the three; but not those that have reported.
func TestAsReported_WhatAllTypesAlikeHaveLessCountsForTheOthers(t *testing.T) {
	size := quantity.Resources{MilliCPU: 1900, MemoryBytes: 100, EphemeralBytes: 50, PodSlots: 29}
	var types []InstanceType
	for _, name := range []string{"a", "b", "c", "d", "e", "larger"} {
		x := InstanceType{Name: name, Allocatable: size}
		if name == "larger" {
			x.Allocatable.EphemeralBytes = 60
		}
		types = append(types, x)
	}
	reports := map[string]Report{}
	check := func(when, instanceType string, want int64) {
		t.Helper()
		for _, x := range AsReported(types, reports) {
			if x.Name == instanceType && x.Allocatable.EphemeralBytes != want {
				t.Errorf("%s: %s has %d, want %d", when, instanceType, x.Allocatable.EphemeralBytes, want)
			}
		}
	}
	for i, n := range []int64{40, 42, 41} {
		reports[types[i].Name] = Report{quantity.EphemeralStorage: {Least: n, Node: fmt.Sprint("node-", n)}}
		if i < Alike-1 {
			check("too few", "d", 50)
		}
	}
	check("three", "a", 40)
	check("three", "d", 42)
	check("three", "larger", 60)
	if x := AsReported(types, reports)[3].Smaller; fmt.Sprint(x) != "[{ephemeral-storage 50 node-42}]" {
		t.Errorf("because of %v", x)
	}
	reports["e"] = Report{quantity.EphemeralStorage: {Least: 50, Node: "n"}}
	check("one has all of it", "a", 40)
	check("one has all of it", "d", 50)
	check("one has all of it", "e", 50)
	if types[0].Allocatable.EphemeralBytes != 50 || types[0].Smaller != nil {
		t.Error("the catalogue's types are changed")
	}
}
