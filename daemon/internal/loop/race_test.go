package loop_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/record"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// The recorder, the audit of the fleet and whoever asks why a node stays read what a Step was
// given and has returned in goroutines of their own, while the next Steps work on the same
// memory. The engine's own tests start no goroutine, so only here the race detector sees it.
func TestEngine_WhatStepsShareIsReadBesideThem(t *testing.T) {
	cfg := shrinking()
	var readers sync.WaitGroup
	var read int
	cfg.Decide = func(in engine.Input) engine.Output {
		out := engine.Step(in)
		after := in
		after.Memory = out.Memory
		read++
		readers.Go(func() { engine.Standings(after) })
		readers.Go(func() { engine.Audit(after) })
		readers.Go(func() { engine.Standings(in) })
		readers.Go(func() {
			if _, err := record.Line("beside", out); err != nil {
				t.Error(err)
			}
		})
		return out
	}
	r := sim.Run(cfg)
	readers.Wait()
	if r.Left > 0 || r.Deletes == 0 || read < 100 {
		t.Errorf("the test sees too little: %d Steps, %d nodes deleted, %d pods left", read, r.Deletes, r.Left)
	}
}

// shrinking is a fleet that is launched for workloads of uneven size, of which two thirds end
// after a while, so that nodes are launched, replaced and deleted.
func shrinking() sim.Config {
	capacity := func(cpus int64) quantity.Resources {
		return quantity.Resources{MilliCPU: cpus * 1000, MemoryBytes: 4 * cpus << 30, EphemeralBytes: 20 << 30, PodSlots: 110}
	}
	var types []catalog.InstanceType
	for _, cpus := range []int64{2, 4, 8, 16} {
		x := catalog.InstanceType{
			Name: fmt.Sprintf("m.%02d", cpus), Capacity: capacity(cpus), Allocatable: capacity(cpus),
			Labels: label.FromMap(map[string]string{label.InstanceType: fmt.Sprintf("m.%02d", cpus), label.Arch: "amd64", label.OS: "linux"}),
		}
		for _, zone := range []string{"a", "b"} {
			x.Offerings = append(x.Offerings, catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: quantity.Money(48_000_000 * cpus), Available: true})
		}
		types = append(types, x)
	}
	cfg := sim.Config{
		Seed: 1, Policy: engine.DefaultPolicy(), Boot: 5 * time.Second, Settle: 10 * time.Minute,
		Classes: []cluster.Class{{Name: "default", Ready: true, Types: types}},
		Pools: []cluster.Pool{{
			Name: "general", UID: "uid-general", Class: "default", Ready: true, Disruption: cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: 30 * time.Second},
			Requirements: label.All(label.Is(label.CapacityType, label.OnDemand)),
		}},
	}
	for i, milliCPU := range []int64{100, 250, 250, 500, 1000, 1000, 2000, 4000} {
		name := fmt.Sprintf("app-%d", i)
		replicas := 30 - 3*int64(i)
		x := sim.Workload{Namespace: "default", Name: name, Replicas: replicas, Labels: label.FromMap(map[string]string{"app": name}), Shape: cluster.Shape{
			Requests: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: milliCPU * 3 << 20, PodSlots: 1},
		}}
		if i%3 == 0 { // rules about other pods have lists of their own in what Steps share
			x.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", name))}}}
		}
		cfg.Workloads = append(cfg.Workloads, x)
		cfg.Scales = append(cfg.Scales, sim.Scale{At: 90 * time.Second, Workload: name, Replicas: replicas / 3})
	}
	return cfg
}
