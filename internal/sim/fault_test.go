package sim

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The cheapest type for each mix runs out for a while. Some NodeClaims come up
// as another type; a NodeClaim that finds no capacity at all is launched again.
func TestRun_SurvivesOfferingsThatRunOut(t *testing.T) {
	cfg := config(mixed(7)...)
	cfg.Boot = 5 * time.Second
	cfg.Outages = []Outage{
		{To: time.Minute, Offering: catalog.OfferingKey{InstanceType: "m.8xlarge"}},
		{To: 20 * time.Second, Offering: catalog.OfferingKey{Zone: "a"}},
		{From: 2 * time.Second, To: 4 * time.Second},
	}
	r := Run(cfg)
	if r.Left != 0 || r.AllRun == 0 {
		t.Errorf("pods were left over: %+v", r)
	}
	if r.Failed == 0 {
		t.Error("no launch failed: the outages have no effect")
	}
}

func TestRun_SurvivesNodesThatDie(t *testing.T) {
	cfg := config(mixed(9)...)
	cfg.Boot = 5 * time.Second
	cfg.Deaths = []time.Duration{12 * time.Second, 14 * time.Second, 40 * time.Second}
	r := Run(cfg)
	if r.Died != 3 || r.Left != 0 {
		t.Errorf("%d nodes died, %d pods left over", r.Died, r.Left)
	}
	if r.Pods <= replicas(cfg) {
		t.Error("pods that died were not created anew")
	}
}

func replicas(cfg Config) int {
	var n int64
	for _, w := range cfg.Workloads {
		n += w.Replicas
	}
	return int(n)
}

func TestRun_ALonePodWaitsForNothing(t *testing.T) {
	for _, mode := range []Mode{Full, NominationsOnly} {
		cfg := config(Workload{Namespace: "default", Name: "one", Shape: shape(500, 1000), Replicas: 1})
		cfg.Mode, cfg.Boot = mode, 5*time.Second
		r := Run(cfg)
		if r.Held.Max != 0 || r.Wait.Max > cfg.withDefaults().Gather {
			t.Errorf("%s: a lone pod was held %s, decided on after %s", mode, r.Held.Max, r.Wait.Max)
		}
		if r.Launches != 1 || r.Left != 0 {
			t.Errorf("%s: %d launches, %d left", mode, r.Launches, r.Left)
		}
	}
}

func TestRun_EmptyNodesAreGoneAfterSettling(t *testing.T) {
	cfg := config(Workload{Namespace: "default", Name: "one", Shape: shape(500, 1000), Replicas: 4})
	cfg.Mode, cfg.Boot = NominationsOnly, 5*time.Second
	if r := Run(cfg); r.Settled > r.Cost || r.Left != 0 {
		t.Errorf("the fleet grew while nothing happened: %+v", r)
	}
}

func TestBound_IsReachedByAFullNodeAndNeverExceeded(t *testing.T) {
	// 15,800m and 63,360Mi are what an m.4xlarge leaves beside the DaemonSet.
	full := config(Workload{Namespace: "default", Name: "w", Shape: shape(15_800, 64_896), Replicas: 3})
	// The system and the DaemonSets take a smaller part of a large size. So the
	// bound prices pods as parts of an m.8xlarge, which is cheaper than any fleet
	// of whole nodes.
	lowest := quantity.Money(3 * 96_000_000 * 8 * 98 / 100)
	if got := Bound(full); got > 3*96_000_000*8 || got < lowest {
		t.Errorf("bound %s, want at most %s and at least %s", got.Dollars(), quantity.Money(3*96_000_000*8).Dollars(), lowest.Dollars())
	}
	twice := full
	twice.Workloads = append(twice.Workloads, twice.Workloads...)
	if one, two := Bound(full), Bound(twice); two < 2*one-10 || two > 2*one+10 {
		t.Errorf("twice the demand has the bound %d, want twice %d", two, one)
	}
}

func TestControllers_StartSlowlyAndKeepTheRate(t *testing.T) {
	var at []time.Duration
	c := &clock{}
	cfg := Config{Rate: 40, Workloads: []Workload{{Name: "a", Replicas: 15}, {Name: "b", Replicas: 15}, {Name: "c", Replicas: 15}}}
	k := newControllers(c, cfg)
	batches := map[time.Duration]int{}
	k.create = func(w *workload) {
		at = append(at, c.now)
		if w.Name == "a" {
			batches[c.now]++
		}
	}
	k.changed = func(*workload) {}
	k.proceed()
	c.run(time.Hour, func() bool { return false })
	if len(at) != 45 || at[44] < 700*time.Millisecond || at[44] > 2*time.Second {
		t.Errorf("%d pods, the last after %s", len(at), at[len(at)-1])
	}
	for i, n := range []int{1, 2, 4, 8} {
		// Each batch waits until the controller has had time for the batch before it.
		if got := batches[time.Duration((1<<i)-1)*50*time.Millisecond]; got != n {
			t.Errorf("batch %d has %d pods, want %d", i, got, n)
		}
	}
}
