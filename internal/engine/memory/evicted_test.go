package memory

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
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
		if _, settles := c.memory.CoolsDown(c.kind, &cluster.Pod{Created: c.created}, at(10)); settles != c.settles {
			t.Errorf("%s: %v", name, settles)
		}
	}
}

func TestSettles_ThePodIsCreatedInTheSecondOfTheEviction(t *testing.T) {
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m Memory
	m.Evict("web", "a", true, second.Add(700*time.Millisecond))
	if _, settles := m.CoolsDown("web", &cluster.Pod{Created: second}, second.Add(time.Minute)); !settles {
		t.Error("the pod may be evicted again")
	}
}

// The controller tells, and not how a pod looks: others have pods that look alike, and a
// rollout makes pods of one Deployment that look otherwise.
func TestSettles_OnlyPodsOfTheControllerComeInPlaceOfItsEvictedPods(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC) }
	owned := func(kind, name, uid, hash string) cluster.Pod {
		p := cluster.Pod{Namespace: "default", Created: at(6), Owner: cluster.Owner{Kind: kind, Name: name, UID: uid}}
		if hash != "" {
			p.Labels = label.FromMap(map[string]string{"pod-template-hash": hash})
		}
		return p
	}
	web, job, db := owned("ReplicaSet", "web-5d8", "rs-1", "5d8"), owned("Job", "report-1", "job-1", ""), owned("StatefulSet", "db", "db", "")
	var m Memory
	for _, p := range []cluster.Pod{web, job, db} {
		m.Evict("kind", "a", true, at(5), p.Controller())
	}
	elsewhere := owned("ReplicaSet", "web-5d8", "rs-3", "5d8")
	elsewhere.Namespace = "other"
	early := db
	early.Created = at(4)
	for name, c := range map[string]struct {
		kind    string
		pod     cluster.Pod
		settles bool
	}{
		"the ReplicaSet":                    {"kind", web, true},
		"the next one of its Deployment":    {"another kind", owned("ReplicaSet", "web-9f7", "rs-2", "9f7"), true},
		"another Deployment":                {"kind", owned("ReplicaSet", "shop-5d8", "rs-4", "5d8"), false},
		"one of its name elsewhere":         {"kind", elsewhere, false},
		"a ReplicaSet without a Deployment": {"kind", owned("ReplicaSet", "web", "rs-5", ""), false},
		"the Job":                           {"kind", job, true},
		"the next Job of its CronJob":       {"kind", owned("Job", "report-2", "job-2", ""), false},
		"the StatefulSet":                   {"another kind", db, true},
		"a StatefulSet made anew":           {"kind", owned("StatefulSet", "db", "db-2", ""), false},
		"from before the eviction":          {"kind", early, false},
	} {
		if _, settles := m.CoolsDown(c.kind, &c.pod, at(10)); settles != c.settles {
			t.Errorf("%s: %v", name, settles)
		}
	}
}

// As a Deployment does, a Rollout of Argo makes a ReplicaSet for each template.
func TestSettles_TheNextPodOfARolloutComesInPlaceOfItsEvictedPods(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC) }
	owned := func(name, hash string) *cluster.Pod {
		return &cluster.Pod{
			Namespace: "default", Created: at(6), Owner: cluster.Owner{Kind: "ReplicaSet", Name: name + "-" + hash, UID: name + hash},
			Labels: label.FromMap(map[string]string{"rollouts-pod-template-hash": hash}),
		}
	}
	var m Memory
	m.Evict("kind", "a", true, at(5), owned("web", "5d8").Controller())
	for p, want := range map[*cluster.Pod]bool{owned("web", "9f7"): true, owned("shop", "5d8"): false} {
		if _, settles := m.CoolsDown("another kind", p, at(10)); settles != want {
			t.Errorf("%s: %v", p.Owner.Name, settles)
		}
	}
}

func TestSettles_NoPodOfAControllerThatIsYoungerThanTheEvictionsBeforeTheMemory(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	m := Memory{EvictedUntil: at(100)}
	for since, want := range map[int]bool{0: true, 50: true, 100: true, 101: false} {
		p := cluster.Pod{Created: at(105), Owner: cluster.Owner{Kind: "Job", UID: "j"}}
		if since > 0 {
			p.OwnedSince = at(since)
		}
		if _, settles := m.CoolsDown("kind", &p, at(120)); settles != want {
			t.Errorf("a controller that is there since %d: %v", since, settles)
		}
	}
}

// A Memory is a value: whoever holds an older one finds it as it was.
func TestEvict_LeavesTheMemoryBeforeAsItWas(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	var before Memory
	before.Evict("web", "a", true, at(1), "web", "db")
	was := before
	was.Evicted, was.EvictedOf = slices.Clone(was.Evicted), slices.Clone(was.EvictedOf)
	after := before
	after.Evict("web", "b", true, at(2), "web", "app")
	if !reflect.DeepEqual(before, was) {
		t.Errorf("before: %+v, want %+v", before, was)
	}
	want := []EvictedOf{{"app", at(2), at(2)}, {"db", at(1), at(1)}, {"web", at(1), at(2)}}
	if !reflect.DeepEqual(after.EvictedOf, want) {
		t.Errorf("after: %+v, want %+v", after.EvictedOf, want)
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
