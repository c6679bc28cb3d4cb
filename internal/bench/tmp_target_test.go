package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestTmpTarget(t *testing.T) {
	from, err := File("w1_300x10k.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{80, 50, 30} {
		cfg := standing(t, 1, from, 32)
		rng := rand.New(rand.NewPCG(1, 0x5ca1e))
		objects := cfg.Running
		objects.Pools, objects.Classes, objects.DaemonSets = cfg.Pools, cfg.Classes, cfg.DaemonSets
		pods := objects.Pods
		var kept []cluster.Pod
		for _, i := range rng.Perm(len(pods))[:len(pods)*to/100] {
			kept = append(kept, pods[i])
		}
		objects.Pods = kept
		snap, err := cluster.New(objects)
		if err != nil {
			t.Fatal(err)
		}
		in := engine.Input{Snapshot: snap, Policy: cfg.Policy, Now: Began().Add(time.Hour)}
		a := engine.Audit(in)
		v := view.Of(snap, cfg.Policy, in.Now)
		q := consolidate.Question{Fleet: offer.Compile(snap.Supply(), nil, 0), Seed: 7, Trials: 10000, Least: quantity.NanoDollars / 200, PerPod: quantity.NanoDollars / 5000, Share: 200}
		for s := range snap.States() {
			c := v.ClaimOf(s)
			p, _ := v.PriceOf(c)
			q.Nodes = append(q.Nodes, consolidate.Node{State: s, Claim: c.Name, Free: s.Free, Price: p.Add(v.ExtraOf(c.Class).Total()), May: true,
				Group: func(p *cluster.Pod) *cluster.Group { g, _ := snap.GroupOf(p.ID()); return g }})
		}
		began := time.Now()
		s := consolidate.Begin(q)
		fin := false
		slices := 0
		var worst time.Duration
		for !fin {
			b := time.Now()
			s, fin = s.Go(1_000_000)
			worst = max(worst, time.Since(b))
			slices++
			if fin || slices%40 == 0 {
				gone, fresh, cost, trials := s.Tmp()
				fmt.Printf("to %d: slices %d %.2fs worst %v trials %d: gone %d fresh %d (%.1f%%) +%.2f%%\n", to, slices, time.Since(began).Seconds(), worst, trials, gone, fresh, 100*float64(fresh)/float64(len(q.Nodes)), 100*(float64(cost)/float64(a.Proof.Bound)-1))
			}
		}
	}
}
