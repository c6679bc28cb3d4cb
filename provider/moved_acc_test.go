//go:build lab

package provider_test

import "testing"

// TestMoved_ThePlanAfterAMoveChangesNothing moves a NodePool that somebody has applied, and
// then manages it.
func TestMoved_ThePlanAfterAMoveChangesNothing(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	spec := map[string]any{
		"weight": int64(5), "limits": map[string]any{"cpu": "10"}, "disruption": map[string]any{"consolidateAfter": "30s"},
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}},
		}},
	}
	if err := s.create(nodePools, "", map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"}, "spec": spec}); err != nil {
		t.Fatal(err)
	}
	before := s.get(nodePools, "", "default")
	pool, diags := l.behind(t, nobody).moved("karpenter_node_pool", "registry.terraform.io/alekc/kubectl", "kubectl_manifest", 1, kubectlState(poolManifest))
	wantNoError(t, diags)
	config := object{
		"name": "default", "node_class": "default", "weight": 5, "limits": object{"cpu": "10"}, "disruption": object{"consolidate_after": "30s"}, "wait": false,
		"requirements": list{object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": list{"on-demand"}}},
	}
	wantNoError(t, pool.read())
	p := pool.plan(config)
	wantNoError(t, p.problems)
	if len(p.replace) > 0 {
		t.Errorf("the plan replaces the pool for %v", p.replace)
	}
	wantNoError(t, pool.apply(config))
	pool.settled(config)
	after := s.get(nodePools, "", "default")
	if after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration() {
		t.Errorf("the move has changed the pool: generation %d, was %d", after.GetGeneration(), before.GetGeneration())
	}
	config["weight"] = 6
	wantNoError(t, pool.apply(config))
	pool.settled(config)
	wantNoError(t, pool.destroy())
	wantNoError(t, daemon.destroy())
}
