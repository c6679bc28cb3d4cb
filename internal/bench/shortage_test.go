package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// realCatalogue is a pool over the real catalogue: c, m, r from generation 5 on, amd64, three zones.
func realCatalogue(t *testing.T, capacity []string, workloads ...sim.Workload) (sim.Config, []catalog.InstanceType) {
	t.Helper()
	facts, market, err := embedded.Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	var zones []catalog.Zone
	for _, z := range market.Zones {
		if strings.HasSuffix(z.Name, "1a") || strings.HasSuffix(z.Name, "1b") || strings.HasSuffix(z.Name, "1c") {
			zones = append(zones, z)
		}
	}
	all := catalog.Build(facts, market, catalog.Settings{Zones: zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion})
	need := func(key string, op label.Operator, values ...string) label.Requirement {
		r, err := label.NewRequirement(key, op, values...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reqs := label.All(need(catalog.LabelCategory, label.In, "c", "m", "r"), need(catalog.LabelGeneration, label.Gt, "4"),
		need(label.Arch, label.In, "amd64"), need(label.CapacityType, label.In, capacity...))
	slices.SortFunc(all, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return sim.Config{
		Gated: true,
		Seed:  1, Workloads: workloads, Policy: asDeployed(), Limit: 90 * time.Minute, Boot: 40 * time.Second,
		Classes: []cluster.Class{{Name: "default", Ready: true, Types: all}},
		Pools:   []cluster.Pool{{Name: "general", UID: "uid-general", Class: "default", Ready: true, Disruption: cluster.Disruption{After: 30 * time.Second}, Requirements: reqs}},
	}, all
}

// asDeployed is the policy of the daemon, as far as launches that fail are concerned; see
// daemon/internal/claim.
func asDeployed() engine.Policy {
	p := engine.DefaultPolicy()
	p.MostUnlaunched = 48
	return p
}

// failedCalls counts the launch calls that failed, by hour.
func failedCalls(cfg *sim.Config) *[6]int {
	var failed [6]int
	cfg.Called = func(at time.Duration, launched bool) {
		if !launched {
			failed[at/time.Hour]++
		}
	}
	return &failed
}

func cpuAndMemory(milliCPU, mib int64) cluster.Shape {
	return cluster.Shape{Requests: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: mib << 20, PodSlots: 1}}
}

// mostFailed is how many launch calls of a NodePool may fail in an hour, whatever is wanted.
const mostFailed = 30

func largeReplicas(replicas int64) sim.Workload {
	return sim.Workload{Namespace: "default", Name: "big", Shape: cpuAndMemory(14_000, 50_000), Replicas: replicas}
}

// A quota that is used up fails everything at once. The nodes come within the longest pause
// after the quota is raised.
func TestShortage_AUsedUpQuotaCostsFewCalls(t *testing.T) {
	for _, nodes := range []int64{1, 20, 300} {
		cfg, _ := realCatalogue(t, []string{label.OnDemand}, largeReplicas(2*nodes))
		cfg.Outages = []sim.Outage{{To: 3 * time.Hour}}
		cfg.Limit = 4 * time.Hour
		failed := failedCalls(&cfg)
		r := sim.Run(cfg)
		t.Logf("%d nodes: failed calls by hour %v, NodeClaims without a call %d, all run after %s", nodes, failed, r.Dropped, r.AllRun)
		if slices.Max(failed[:]) > mostFailed || r.Dropped > int(2*nodes) {
			t.Errorf("%d nodes wanted: failed calls by hour %v, %d NodeClaims ended without a call", nodes, failed, r.Dropped)
		}
		if r.Left != 0 || r.AllRun == 0 || r.AllRun > 3*time.Hour+13*time.Minute {
			t.Errorf("%d nodes wanted: all run after %s, %d left", nodes, r.AllRun, r.Left)
		}
	}
}

// Each offering fails by itself, so that the whole catalogue has to be tried.
func TestShortage_ACatalogueWithoutCapacityCostsFewCalls(t *testing.T) {
	for _, nodes := range []int64{1, 300} {
		cfg, all := realCatalogue(t, []string{label.OnDemand, label.Spot}, largeReplicas(2*nodes))
		for _, x := range all {
			cfg.Outages = append(cfg.Outages, sim.Outage{To: 2 * time.Hour, Offering: catalog.OfferingKey{InstanceType: x.Name}})
		}
		cfg.Limit = 3 * time.Hour
		failed := failedCalls(&cfg)
		r := sim.Run(cfg)
		t.Logf("%d nodes: failed calls by hour %v, NodeClaims without a call %d, all run after %s", nodes, failed, r.Dropped, r.AllRun)
		if slices.Max(failed[:]) > mostFailed {
			t.Errorf("%d nodes wanted: failed calls by hour %v", nodes, failed)
		}
		if r.Left != 0 || r.AllRun == 0 || r.AllRun > 2*time.Hour+13*time.Minute {
			t.Errorf("%d nodes wanted: all run after %s, %d left", nodes, r.AllRun, r.Left)
		}
	}
}

// Without the service-linked role every spot launch fails, and on-demand works.
func TestShortage_APodThatMayRunOnDemandDoesNotWaitForTheSpotCatalogue(t *testing.T) {
	cfg, _ := realCatalogue(t, []string{label.Spot, label.OnDemand}, sim.Workload{Namespace: "default", Name: "one", Shape: cpuAndMemory(1500, 3000), Replicas: 1})
	cfg.Outages = []sim.Outage{{To: 90 * time.Minute, Offering: catalog.OfferingKey{CapacityType: label.Spot}}}
	if r := sim.Run(cfg); r.Failed > 2 || r.Left != 0 || r.AllRun > time.Minute {
		t.Errorf("%d failed launches before one on demand; the pod ran after %s", r.Failed, r.AllRun)
	}
}

func TestShortage_AStormOfLackingCapacityIsPassedInAFewCalls(t *testing.T) {
	cfg, all := realCatalogue(t, []string{label.OnDemand}, largeReplicas(300))
	have := []string{"m5.4xlarge", "m5.8xlarge", "r5.4xlarge"}
	for _, x := range all {
		if !slices.Contains(have, x.Name) {
			cfg.Outages = append(cfg.Outages, sim.Outage{To: 90 * time.Minute, Offering: catalog.OfferingKey{InstanceType: x.Name}})
		}
	}
	r := sim.Run(cfg)
	t.Logf("launches %d, failed %d, without a call %d, all run after %s, left %d, nodes %d", r.Launches, r.Failed, r.Dropped, r.AllRun, r.Left, r.Nodes)
	if r.Failed > 10 || r.Dropped > 50 || r.Left != 0 || r.AllRun > 65*time.Second {
		t.Errorf("%d failed launches, %d NodeClaims made in vain, all run after %s", r.Failed, r.Dropped, r.AllRun)
	}
}

// A static pool wants its nodes whatever pods there are.
func TestShortage_AStaticPoolOfAUsedUpQuotaMakesFewCalls(t *testing.T) {
	cfg, _ := realCatalogue(t, []string{label.OnDemand})
	cfg.Pools[0].Static = true
	cfg.Resizes = []sim.Resize{{At: time.Second, Pool: "general", Replicas: 100}}
	cfg.Outages = []sim.Outage{{To: 2 * time.Hour}}
	cfg.Limit, cfg.Settle = 150*time.Minute, 150*time.Minute
	failed := failedCalls(&cfg)
	r := sim.Run(cfg)
	t.Logf("failed calls by hour %v, NodeClaims without a call %d, nodes %d", failed, r.Dropped, r.NodesSettled)
	if slices.Max(failed[:]) > mostFailed || failed[0] == 0 || r.NodesSettled != 100 {
		t.Errorf("failed calls by hour %v, %d nodes in the end", failed, r.NodesSettled)
	}
}
