package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

const disks = "attach/ebs.csi.aws.com"

// attaching has every type attach so many volumes, by name, 0 being unknown.
func (w *world) attaching(of map[string]int64) *world {
	types := w.objects.Classes[0].Types
	for i := range types {
		types[i].Allocatable = types[i].Allocatable.Extend(disks, of[types[i].Name])
	}
	return w
}

// named has the driver name so many for every node that runs.
func (w *world) named(n int64) *world {
	for i := range w.objects.Nodes {
		w.objects.Nodes[i].Allocatable = w.objects.Nodes[i].Allocatable.Extend(disks, n)
	}
	return w
}

func volumes(n int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(disks, n) }
}

// most returns the most pods of a launch, and the types of all.
func most(out engine.Output) (n int, types []string) {
	for _, l := range of[plan.Launch](out) {
		n = max(n, len(l.Pods))
		for _, c := range l.Types {
			types = append(types, c.Type)
		}
	}
	slices.Sort(types)
	return n, slices.Compact(types)
}

// A pod with more volumes than a node can attach: a node is launched for it, joins
// with its limit known, cannot take it, and another one is launched, for ever.
func TestStep_DoesNotLaunchAgainAndAgainForAPodWithMoreVolumesThanANodeAttaches(t *testing.T) {
	for name, w := range map[string]*world{
		"types say nothing": newWorld(t),
		"types say more":    newWorld(t).attaching(map[string]int64{"c5.large": 31, "c5.xlarge": 32, "m5.xlarge": 39}),
	} {
		w.pods("db", 1, 1000, volumes(30))
		total := 0
		for range 5 {
			launches := of[plan.Launch](w.step())
			total += len(launches)
			w.order(launches).bringUp(launches).named(25) // the CSINode's count
		}
		if total > 1 {
			t.Errorf("%s: %d nodes launched for one pod", name, total)
		}
	}
}

func TestStep_NewNodesAreForNoMoreVolumesThanTheirTypeAttaches(t *testing.T) {
	out := newWorld(t).attaching(map[string]int64{"c5.large": 5, "c5.xlarge": 8, "m5.xlarge": 8}).pods("db", 6, 100, volumes(2)).step()
	if launched := launchedFor(out); launched != 6 {
		t.Errorf("launched for %d pods of 6", launched)
	}
	for _, l := range of[plan.Launch](out) {
		for _, c := range l.Types {
			if room := map[string]int{"c5.large": 2, "c5.xlarge": 4, "m5.xlarge": 4}[c.Type]; len(l.Pods) > room {
				t.Errorf("%d pods on a node that may be a %s, which attaches the volumes of %d", len(l.Pods), c.Type, room)
			}
		}
	}
	big := newWorld(t).attaching(map[string]int64{"c5.large": 5, "c5.xlarge": 5, "m5.xlarge": 8}).pods("db", 1, 100, volumes(7)).step()
	if _, types := most(big); !slices.Equal(types, []string{"m5.xlarge"}) {
		t.Errorf("for seven volumes: %v, want the only type that attaches them", types)
	}
	if why := of[plan.Launch](big)[0].Why; why.Lacks == nil || why.Lacks.Resource != disks || why.Lacks.Free != 5 {
		t.Errorf("why not the cheaper: %+v", why.Lacks)
	}
}

// managed adds a node of the type that no NodeClaim is of and that is full.
func (w *world) managed(instanceType string, attaches int64) *world {
	w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
		Name: "managed-" + instanceType, UID: "uid-managed-" + instanceType, Ready: true, Created: start,
		Labels: label.FromMap(map[string]string{label.InstanceType: instanceType, label.Hostname: "managed-" + instanceType}),
	})
	n := &w.objects.Nodes[len(w.objects.Nodes)-1]
	n.Allocatable = n.Allocatable.Extend(disks, attaches)
	return w
}

func TestStep_WhatADriverNamesWinsOverWhatTheTypeSays(t *testing.T) {
	says := map[string]int64{"c5.large": 6, "c5.xlarge": 6, "m5.xlarge": 6}
	for name, c := range map[string]struct {
		named map[string]int64
		want  int // pods of two volumes on the cheapest type
	}{
		"nothing is named":                  {nil, 3},
		"fewer, of its own type":            {map[string]int64{"c5.large": 4, "c5.xlarge": 6}, 2},
		"more, of its own type":             {map[string]int64{"c5.large": 8}, 4},
		"as many, of another":               {map[string]int64{"m5.xlarge": 6}, 3},
		"fewer, of all that there are":      {map[string]int64{"c5.xlarge": 2, "m5.xlarge": 4}, 2},
		"fewer, of one that is in no class": {map[string]int64{"t2.micro": 2}, 3},
	} {
		w := newWorld(t).attaching(says).pods("db", 8, 50, volumes(2))
		w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(label.All(label.Is(label.InstanceType, "c5.large")))
		for kind, n := range c.named {
			w.managed(kind, n)
		}
		if got, _ := most(w.step()); got != c.want {
			t.Errorf("%s: %d pods on one node, want %d", name, got, c.want)
		}
	}
}

// A node that is up counts what its type says until its driver has named more or
// fewer: pods that come meanwhile must not be promised slots that it will not have.
func TestStep_ANodeWhoseDriverHasNotSpokenIsPlannedAsItsTypeSays(t *testing.T) {
	for name, bring := range map[string]func(*world, []plan.Launch){
		"ordered":  func(w *world, l []plan.Launch) { w.order(l) },
		"launched": func(w *world, l []plan.Launch) { w.order(l).bringUp(l); w.objects.Nodes = nil },
		"joined":   func(w *world, l []plan.Launch) { w.order(l).bringUp(l).named(cluster.UnlimitedSlots) },
	} {
		w := newWorld(t).attaching(map[string]int64{"c5.large": 5, "c5.xlarge": 5, "m5.xlarge": 5}).pods("db", 1, 100, volumes(2))
		bring(w, of[plan.Launch](w.step()))
		for i := range w.objects.Claims {
			w.objects.Claims[i].Allocatable = w.objects.Claims[i].Allocatable.Extend(disks, 0) // it is not on the wire
		}
		w.now = w.now.Add(2 * time.Second)
		if got := launchedFor(w.pods("more", 3, 100, volumes(2)).step()); got != 2 {
			t.Errorf("%s: launched for %d pods, want two beside the one that it has room for", name, got)
		}
	}
}
