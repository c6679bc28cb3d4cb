package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/record"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The plans of these worlds are the same on every machine, and after every change
// that is meant to change no plan, to the last bit. Each line of the file is a
// Step: read what differs, and run with -update when the new plans are right. When
// a line differs on one architecture only, an integer has become a float
// somewhere.
func TestStep_PlansAreAsRecorded(t *testing.T) {
	const file = "testdata/plans.txt"
	r := &recorder{t: t}
	for _, name := range recordedWorlds() {
		r.world(name)
	}
	r.scenarios()
	r.tapes()
	text := strings.Join(r.lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if difference := record.Compare(string(known), r.lines); difference != "" {
		t.Error(difference)
	}
}

// recorder collects a line for each Step.
type recorder struct {
	t     *testing.T
	lines []string
}

// on makes the world's Steps recorded under the name.
func (r *recorder) on(w *world, name string) *world {
	n := 0
	w.seen = func(out engine.Output) {
		n++
		line, err := record.Line(fmt.Sprintf("%s/%d", name, n), out)
		if err != nil {
			r.t.Fatal(err)
		}
		r.lines = append(r.lines, line)
	}
	return w
}

// scenarios plays the stories of testdata.
func (r *recorder) scenarios() {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		r.t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		s := scenario{world: r.on(newWorld(r.t), strings.TrimSuffix(filepath.Base(file), ".txtar"))}
		s.objects.Pools = nil
		for _, line := range scriptOf(r.t, file) {
			s.run(line)
		}
	}
}

// tapes plays drawn worlds, one Step each, and drawn sequences: as they are, with
// a daemon that forgets, and with plans that are cut short.
func (r *recorder) tapes() {
	for i := range 250 {
		w := r.on(newWorld(r.t), fmt.Sprint("noise/", i))
		(&tape{noise(5000+i, 60+20*(i%30))}).world(w)
		if _, err := cluster.New(w.objects); err == nil {
			w.step()
		}
	}
	for i := range 40 {
		for _, as := range []struct {
			name      string
			limit     int
			forgetful bool
		}{{"whole", 0, false}, {"forgetful", 0, true}, {"cut", 1, false}} {
			w := r.on(newWorld(r.t), fmt.Sprintf("sequence-%s/%d", as.name, i))
			w.workLimit = as.limit
			fuzzSteps(w, noise(200_000+i, 100+40*(i%20)), as.forgetful)
		}
	}
}

func recordedWorlds() []string {
	return []string{"shaped-1000", "shaped-3000", "mixed", "running", "limited"}
}

// world plays one of recordedWorlds.
func (r *recorder) world(name string) {
	w := r.on(newWorld(r.t), name)
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
			func(p *cluster.Pod) { p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "d")} },
			func(p *cluster.Pod) { p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "e")} },
			func(p *cluster.Pod) { p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 5, "f")} },
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
	case "limited":
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 200_000}}
		w.pool(cluster.Pool{Name: "heavy", Weight: 10, Limits: []quantity.Amount{{Name: "nodes", Count: 3}}})
		w.shaped(5, 40, 500, 1)
	default:
		r.t.Fatalf("no world %q", name)
	}
	w.step()
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
