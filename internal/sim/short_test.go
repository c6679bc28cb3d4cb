package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Some instance types have less for pods than the catalogue says. Pods of all sizes come at
// drawn times, many of them just as large as a node by the catalogue. All run in the end, and
// once a node of a type has reported, no other comes in vain, also when the daemon starts
// anew.
func TestRun_NoNodeComesInVainOnceOneOfItsTypeHasReported(t *testing.T) {
	launches := 0
	for seed := range uint64(12) {
		r := &chance{seed: seed}
		cfg := config()
		cfg.Seed, cfg.Boot, cfg.Mode, cfg.Limit, cfg.Quiet = seed, 10*time.Second, []Mode{Full, NominationsOnly}[seed%2], time.Hour, 3*time.Minute
		types := cfg.Classes[0].Types
		for i, resource := range []string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods} {
			s := Short{Resource: resource, Permille: 1 + r.below(60)}
			if i%2 == 0 || r.below(2) == 0 {
				s.Type = types[r.below(int64(len(types)))].Name
			}
			cfg.Shorts = append(cfg.Shorts, s)
		}
		agent := cfg.DaemonSets[0].Shape.Requests
		runs := func(need quantity.Resources) bool {
			return slices.ContainsFunc(types, func(x catalog.InstanceType) bool {
				return need.Add(agent).Fits(cfg.reported(x.Name, x.Allocatable))
			})
		}
		for i := range 40 {
			of := types[r.below(9)].Allocatable // not the largest, so that a larger one holds the pod
			cpu, memory := of.MilliCPU-100-r.below(50), of.MemoryBytes>>20-128-r.below(100)
			switch r.below(3) {
			case 0:
				cpu = 1 + r.below(cpu)
			case 1:
				memory = 1 + r.below(memory)
			}
			w := Workload{Namespace: "default", Name: fmt.Sprintf("d%02d", i), Shape: shape(cpu, memory)}
			if !runs(w.Shape.Requests) {
				continue
			}
			cfg.Workloads = append(cfg.Workloads, w)
			cfg.Scales = append(cfg.Scales, Scale{At: time.Duration(r.below(1200)) * time.Second, Workload: w.Name, Replicas: 1 + r.below(2)})
		}
		for range 3 {
			cfg.Restarts = append(cfg.Restarts, time.Duration(r.below(1200))*time.Second)
		}
		got := Run(cfg)
		if got.Left > 0 || got.Vain > 0 || got.Violations > 0 {
			t.Errorf("seed %d, %s: %d pods are left, %d nodes in vain, %s (%+v)", seed, cfg.Mode, got.Left, got.Vain, got.Violation, cfg.Shorts)
		}
		launches += got.Launches
	}
	if launches == 0 {
		t.Error("nothing was launched")
	}
}

// few is a catalogue of many types, of which one in a hundred is up to 10 % smaller than it
// says.
func few(r *chance, n int) (types []catalog.InstanceType, shorts []Short) {
	for i := range n {
		vcpu, memory := 2+r.below(14), 4+r.below(60)
		types = append(types, instanceType(fmt.Sprintf("t%03d.large", i), vcpu, memory, quantity.Money(vcpu*20_000_000+memory*2_500_000+r.below(9_000_000))))
	}
	resources := []string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}
	for range n / 100 {
		shorts = append(shorts, Short{Type: types[r.below(int64(n))].Name, Resource: resources[r.below(4)], Permille: 1 + r.below(100)})
	}
	return types, shorts
}

// Pods are as large as nodes of these types by the catalogue, so that each of the types is
// launched for some. One after the other comes, and the daemon starts anew between two of
// them: of each type that is smaller, one node at most is launched for a pod that it does not
// hold.
func TestRun_AtMostOneNodeInVainForEachTypeThatIsSmaller(t *testing.T) {
	vain := 0
	for seed := range uint64(10) {
		r := &chance{seed: seed}
		cfg := config()
		cfg.Seed, cfg.Boot, cfg.Mode, cfg.Limit, cfg.Quiet = seed, 10*time.Second, Full, 3*time.Hour, 3*time.Minute
		cfg.Classes[0].Types, cfg.Shorts = few(r, 200)
		agent := cfg.DaemonSets[0].Shape.Requests
		for i := range 24 {
			short := cfg.Shorts[i%len(cfg.Shorts)]
			at := slices.IndexFunc(cfg.Classes[0].Types, func(x catalog.InstanceType) bool { return x.Name == short.Type })
			room := cfg.Classes[0].Types[at].Allocatable.Sub(agent)
			w := Workload{Namespace: "default", Name: fmt.Sprintf("d%02d", i), Shape: shape(room.MilliCPU, room.MemoryBytes>>20)}
			cfg.Workloads = append(cfg.Workloads, w)
			cfg.Scales = append(cfg.Scales, Scale{At: time.Duration(i) * 3 * time.Minute, Workload: w.Name, Replicas: 1})
			if i%3 == 1 {
				cfg.Restarts = append(cfg.Restarts, time.Duration(i)*3*time.Minute+time.Duration(r.below(120))*time.Second)
			}
		}
		got := Run(cfg)
		if got.Left > 0 || got.Vain > 0 || got.Violations > 0 || got.First > len(cfg.Shorts) {
			t.Errorf("seed %d: %d pods are left, %d nodes in vain and %d before their type had reported, %s (%+v)", seed, got.Left, got.Vain, got.First, got.Violation, cfg.Shorts)
		}
		vain += got.First
	}
	if vain == 0 {
		t.Error("no node was in vain: nothing is tested")
	}
}
