package memory

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

func TestSettles_WhatMayHaveComeInPlaceOfAnEvictedPodStaysForAWhile(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC) }
	evicted := func(m Memory) Memory { m.Evict("web", "a", true, at(5)); return m }
	for name, c := range map[string]struct {
		memory  Memory
		created time.Time
		kind    string
		settles bool
	}{
		"no eviction":                       {Memory{}, at(9), "web", false},
		"of the kind, and since":            {evicted(Memory{}), at(5), "web", true},
		"of the kind, and before":           {evicted(Memory{}), at(4), "web", false},
		"of another kind":                   {evicted(Memory{}), at(6), "db", false},
		"before the memory began":           {Memory{EvictedUntil: at(7)}, at(7), "db", true},
		"long before the memory began":      {Memory{EvictedUntil: at(7)}, at(-1), "db", false},
		"after others' evictions":           {Memory{EvictedUntil: at(7)}, at(8), "db", false},
		"longer ago than a pod has to stay": {evicted(Memory{}), at(0), "web", false},
	} {
		if _, settles := c.memory.Settles(c.kind, &cluster.Pod{Created: c.created}, at(10)); settles != c.settles {
			t.Errorf("%s: %v", name, settles)
		}
	}
}

func TestSettles_ThePodIsCreatedInTheSecondOfTheEviction(t *testing.T) {
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m Memory
	m.Evict("web", "a", true, second.Add(700*time.Millisecond))
	if _, settles := m.Settles("web", &cluster.Pod{Created: second}, second.Add(time.Minute)); !settles {
		t.Error("the pod may be evicted again")
	}
}

func TestNext_KnowsNoEvictionWhereThereWasNone(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	if err != nil {
		t.Fatal(err)
	}
	if got := (Memory{}).Next(s, time.Unix(1, 0)).EvictedUntil; !got.IsZero() {
		t.Errorf("evicted until %s", got)
	}
}
