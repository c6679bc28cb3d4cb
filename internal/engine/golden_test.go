package engine_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const goldenFile = "testdata/plans.golden"

// The plans of these worlds are the same on every machine, to the last bit: each
// line of the file is a world and the hash of all that its plan says. When one
// differs because the engine plans otherwise now, run with -update; when it
// differs on one architecture only, an integer has become a float somewhere.
func TestStep_PlansAreTheSameOnEveryMachine(t *testing.T) {
	var got strings.Builder
	for _, name := range []string{"shaped-1000", "shaped-3000", "mixed", "running", "limited", "noise"} {
		sum := sha256.New()
		for _, out := range goldenPlans(t, name) {
			_, _ = sum.Write(canonical(t, out.Plan))
		}
		fmt.Fprintf(&got, "%s %x\n", name, sum.Sum(nil))
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("plans:\n%swant:\n%s", got.String(), want)
	}
}

// A hash that does not see a part of the plan protects nothing.
func TestCanonical_SeesEveryPartOfAPlan(t *testing.T) {
	whole := goldenPlans(t, "shaped-1000")[0].Plan
	before := string(canonical(t, whole))
	for name, change := range map[string]func(*plan.Plan){
		"requirements": func(p *plan.Plan) {
			l := of[plan.Launch](engine.Output{Plan: *p})[0]
			l.Requirements = l.Requirements.And(label.All(label.Is("a", "b")))
			p.Actions[0] = l
		},
		"cost":    func(p *plan.Plan) { p.Cost++ },
		"prices":  func(p *plan.Plan) { p.Proofs[0].Demand[0].Prices[0]++ },
		"outcome": func(p *plan.Plan) { p.Outcomes[0].Pods = p.Outcomes[0].Pods[1:] },
	} {
		p := goldenPlans(t, "shaped-1000")[0].Plan
		change(&p)
		if string(canonical(t, p)) == before {
			t.Errorf("%s may change unseen", name)
		}
	}
}

// canonical writes all of a plan.
func canonical(t *testing.T, p plan.Plan) []byte {
	t.Helper()
	var all []byte
	write := func(x any) {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		all = append(fmt.Appendf(all, "%T ", x), append(text, '\n')...)
	}
	for _, a := range p.Actions {
		write(a)
		if l, ok := a.(plan.Launch); ok {
			write(l.Requirements.String())
		}
	}
	write(p.Outcomes)
	write(p.Cost)
	write(p.Proofs)
	return all
}

// goldenPlans are the plans of a world, one after the other.
func goldenPlans(t *testing.T, name string) []engine.Output {
	t.Helper()
	w := newWorld(t)
	w.objects.Classes[0].Types = formulaTypes()
	switch name {
	case "shaped-1000":
		w.shaped(1, 60, 1000, 1)
	case "shaped-3000":
		w.shaped(2, 120, 3000, 1)
	case "mixed":
		for i, ask := range []func(*cluster.Pod){
			func(*cluster.Pod) {},
			func(p *cluster.Pod) {
				p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("b")}}
			},
			func(p *cluster.Pod) {
				p.Shape.Spread = []cluster.Spread{{Key: label.Hostname, MaxSkew: 1, Selector: pods("c")}}
			},
			func(p *cluster.Pod) { p.Shape.Together = []cluster.PodTerm{term(label.Zone, 0, "d")} },
			func(p *cluster.Pod) { p.Shape.Apart = []cluster.PodTerm{term(label.Hostname, 0, "e")} },
			func(p *cluster.Pod) { p.Shape.Apart = []cluster.PodTerm{term(label.Zone, 5, "f")} },
		} {
			app := string(rune('a' + i))
			w.pods(app, 30, int64(100+250*i), func(p *cluster.Pod) {
				p.Labels = label.FromMap(map[string]string{"app": app})
				ask(p)
			})
		}
	case "running":
		w.shaped(3, 30, 300, 1)
		first := w.step()
		w.order(of[plan.Launch](first)).bringUp(of[plan.Launch](first))
		second := w.step()
		w.open(second.Plan.Actions).shaped(4, 10, 100, 1)
		w.now = w.now.Add(time.Second)
		return []engine.Output{first, second, w.step()}
	case "limited":
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 200_000}}
		w.pool(cluster.Pool{Name: "heavy", Weight: 10, Limits: []quantity.Amount{{Name: "nodes", Count: 3}}})
		w.shaped(5, 40, 500, 1)
	case "noise":
		var all []engine.Output
		for i := range 40 {
			x := newWorld(t)
			(&tape{noise(5000+i, 600)}).world(x)
			all = append(all, x.step())
		}
		return all
	default:
		t.Fatalf("no world %q", name)
	}
	return []engine.Output{w.step()}
}

// formulaTypes are c, m and r types of three generations with 2 to 32 vCPUs in
// three zones, as the embedded catalogue has them, made without it.
func formulaTypes() []catalog.InstanceType {
	var out []catalog.InstanceType
	for f, family := range []string{"c", "m", "r"} {
		for generation := int64(5); generation <= 7; generation++ {
			for vcpu := int64(2); vcpu <= 32; vcpu *= 2 {
				price := quantity.Money(vcpu * (42_500_000 + 5_500_000*int64(f) + 1_130_000*(generation-5)))
				x := instanceType(fmt.Sprintf("%s%d.%02d", family, generation, vcpu), vcpu, vcpu<<(f+1), price)
				x.Offerings = append(x.Offerings, catalog.Offering{Zone: "c", CapacityType: label.OnDemand, Price: price + quantity.Money(vcpu), Available: true})
				x.Capacity.PodSlots, x.Allocatable.PodSlots = 58, 58
				out = append(out, x)
			}
		}
	}
	return out
}

// shaped adds pods of so many Deployments, a few large and many small, as those
// of the benchmark's ordinary mix of microservices. copies multiplies the pods
// of each Deployment.
func (w *world) shaped(seed uint64, deployments, total, copies int) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	cpus := []int64{50, 100, 100, 200, 250, 250, 500, 500, 750, 1000, 1000, 1500, 2000, 3000, 4000, 8000, 15000}
	weights, sum := make([]int, deployments), 0
	for i := range weights {
		weights[i] = 1 << rng.IntN(7)
		sum += weights[i]
	}
	for i := range weights {
		cpu := cpus[rng.IntN(len(cpus))]
		mib := max(64, cpu*int64(400+rng.IntN(12_000))/1000/32*32)
		n := max(1, total*weights[i]/sum) * copies
		w.pods(fmt.Sprintf("s%d-%d", seed, i), n, cpu, func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = mib << 20 })
	}
	return w
}
