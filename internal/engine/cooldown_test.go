package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func ownedBy(name string) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Owner = cluster.Owner{Kind: "StatefulSet", Name: name, UID: name} }
}

// A node of which a pod was evicted from another node a moment ago drifts: it stays for a
// pod of the same controller, and not for one that only looks alike.
func TestStep_ANodeThatDriftsStaysForPodsOfTheControllerWhosePodWasEvicted(t *testing.T) {
	for owner, stays := range map[string]bool{"db": true, "another": false} {
		w := newWorld(t)
		w.pods("db", 1, 1500, ownedBy("db")).running()
		w.objects.Claims[0].Deleting = true
		w.now = w.now.Add(time.Minute)
		w.step()
		w.objects.Pods, w.objects.Claims, w.objects.Nodes = nil, nil, nil
		w.pods("next", 1, 1500, ownedBy(owner), func(p *cluster.Pod) { p.Created = w.now.Add(time.Second) })
		w.now = w.now.Add(2 * time.Second)
		w.running()
		w.now = w.now.Add(time.Minute)
		w.objects.Claims[0].Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now}
		if replaced := len(of[plan.Launch](w.step())) > 0; replaced == stays {
			t.Errorf("with a pod of %s: replaced %v", owner, replaced)
		}
	}
}
