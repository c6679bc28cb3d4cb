package bench

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

func TestTmpSeries(t *testing.T) {
	from, _ := File("w1_300x10k.csv")
	to, _ := strconv.Atoi(os.Getenv("TO"))
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	cfg := scalingIn(t, uint64(max(seed, 1)), from, to)
	every := 10 * time.Second
	launches, disrupts, deletes, restores, moves := 0, 0, 0, 0, 0
	cfg.Seen = func(o engine.Output) {
		if os.Getenv("ACTIONS") != "" {
			line := ""
			for _, a := range o.Plan.Actions {
				switch a := a.(type) {
				case plan.Launch:
					line += fmt.Sprintf(" launch(%s %v move %v)", a.Types[0].Type, a.Price.Dollars(), a.Move != nil)
					if a.Move != nil {
						line += fmt.Sprintf("[%d of %d, %d sources]", a.Move.Index, a.Move.Count, len(a.Move.Sources))
					}
				case plan.Disrupt:
					line += " disrupt(" + a.Claim + ")"
				case plan.Delete:
					line += " delete(" + a.Claim + ")"
				case plan.Restore:
					line += " restore(" + a.Claim + " " + a.Why + ")"
				}
			}
			if line != "" {
				fmt.Println("   step:", line)
			}
		}
		for _, a := range o.Plan.Actions {
			switch a := a.(type) {
			case plan.Launch:
				launches++
				if a.Move != nil {
					moves++
				}
			case plan.Disrupt:
				disrupts++
			case plan.Delete:
				deletes++
			case plan.Restore:
				restores++
			}
		}
	}
	if s := os.Getenv("EVERY"); s != "" {
		every, _ = time.ParseDuration(s)
	}
	if s := os.Getenv("LIMIT"); s != "" {
		cfg.Limit, _ = time.ParseDuration(s)
	}
	cfg.Every = every
	n := 0
	var last engine.Input
	cfg.Sampled = func(s sim.Sample) {
		last = s.Input
		n++
		if s.At > 3*time.Minute && n%6 != 0 {
			return
		}
		a := engine.Audit(s.Input)
		if at := os.Getenv("AT"); at != "" && fmt.Sprint(int(s.At.Seconds())) == at {
			for _, x := range engine.Standings(s.Input) {
				c, _ := s.Input.Snapshot.Claim(x.Claim)
				st, up := s.Input.Snapshot.State(c.Node)
				if !up {
					fmt.Printf("   %+v not up\n", x)
					continue
				}
				old := 0
				for p := range st.Pods() {
					if p.Moves() && p.Created.After(Began().Add(20*time.Second)) {
						old++
					}
				}
				fc := 100 * st.Free.MilliCPU / st.Node.Allocatable.MilliCPU
				fm := 100 * st.Free.MemoryBytes / st.Node.Allocatable.MemoryBytes
				if fc > 15 || fm > 15 {
					fmt.Printf("   %s %s free %d%% %d%%, %d pods %d new; %s %s taints %v\n", x.Claim, c.InstanceType, fc, fm, st.Count(), old, x.Stay.Reason, x.Stay.Detail, st.Node.Taints)
				}
			}
		}
		going := 0
		var cpu, mem, fcpu, fmem int64
		for st := range s.Input.Snapshot.States() {
			if st.Node.Disrupted {
				going++
				continue
			}
			cpu += st.Node.Allocatable.MilliCPU
			mem += st.Node.Allocatable.MemoryBytes >> 20
			fcpu += st.Free.MilliCPU
			fmem += st.Free.MemoryBytes >> 20
		}
		if s.At > 28*time.Second && s.At < 60*time.Second {
			type agg struct{ n, later, next, dis, cpu, mem, fc, fm int64 }
			by := map[int]*agg{}
			for st := range s.Input.Snapshot.States() {
				n := st.Node
				k := 10 + int(math.Round(math.Log2(float64(n.Allocatable.MemoryBytes>>20)/float64(n.Allocatable.MilliCPU))))
				later, next := false, false
				for _, t := range n.Taints {
					later = later || t.Key == "karpenterd.sh/fills-later"
					next = next || t.Key == "karpenterd.sh/goes-next"
				}
				if n.Disrupted {
					k += 200
				} else if next {
					k += 100
				}
				a := by[k]
				if a == nil {
					a = &agg{}
					by[k] = a
				}
				a.n++
				if later {
					a.later++
				}
				a.cpu += n.Allocatable.MilliCPU
				a.mem += n.Allocatable.MemoryBytes >> 20
				a.fc += st.Free.MilliCPU
				a.fm += st.Free.MemoryBytes >> 20
			}
			for k, a := range by {
				fmt.Printf("      kind %d: %d nodes, %d later; free %.1f%% %.1f%%\n", k, a.n, a.later, 100*float64(a.fc)/float64(a.cpu), 100*float64(a.fm)/float64(a.mem))
			}
		}
		fmt.Printf("%5.0f s: %3d nodes, %2d going, gap %5.1f %%, launches %d (%d move) disrupts %d deletes %d restores %d waiting %d; free cpu %.1f%% mem %.1f%%\n", s.At.Seconds(), s.Input.Snapshot.NodeCount(), going, 100*(float64(s.Cost)/float64(a.Proof.Bound)-1), launches, moves, disrupts, deletes, restores, s.Waiting, 100*float64(fcpu)/float64(cpu), 100*float64(fmem)/float64(mem))
	}
	r := sim.Run(cfg)
	fmt.Printf("%+v\n", r)
	_ = cluster.Pod{}
	_ = last
}
