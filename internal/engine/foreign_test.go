package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// foreign is a Node without a NodeClaim: of a node group that cluster-autoscaler scales, or
// of Karpenter's alpha generation.
func foreign(name, key, value string) cluster.Node {
	return cluster.Node{
		Name: name, UID: name, Ready: true, Created: time.Unix(0, 0),
		Labels:      label.FromMap(map[string]string{label.Zone: "a", label.Hostname: name, label.NodeName: name, label.Arch: "amd64", label.OS: "linux", key: value}),
		Allocatable: quantity.Resources{MilliCPU: 4000, MemoryBytes: 16 << 30, EphemeralBytes: 20 << 30, PodSlots: 30},
	}
}

// foreigners are the labels that tell whose node it is.
func foreigners() map[string]string {
	return map[string]string{"eks.amazonaws.com/nodegroup": "workers", "karpenter.sh/provisioner-name": "default"}
}

func TestForeign_PodsThatFitOnNodesOfOthersAreLeftToThem(t *testing.T) {
	for key, value := range foreigners() {
		w := newWorld(t).pods("web", 4, 1000)
		w.objects.Nodes = append(w.objects.Nodes, foreign("other", key, value))
		if got := of[plan.Launch](w.step()); len(got) != 0 {
			t.Errorf("%s: launched for pods that fit on a node that is there: %+v", key, got)
		}
		for i := range w.objects.Pods {
			w.objects.Pods[i].Node = "other" // the kube-scheduler puts them there
		}
		w.pods("more", 2, 1000)
		launches := of[plan.Launch](w.step())
		n := 0
		for _, l := range launches {
			n += len(l.Pods)
		}
		if n != 2 {
			t.Errorf("%s: launched for %d pods, want the 2 that do not fit: %+v", key, n, launches)
		}
	}
}

func TestForeign_NodesOfOthersAreNeverTouched(t *testing.T) {
	for key, value := range foreigners() {
		w := newWorld(t)
		empty, used := foreign("empty", key, value), foreign("used", key, value)
		empty.Taints = []cluster.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Value: "1", Effect: cluster.NoSchedule}}
		w.objects.Nodes = append(w.objects.Nodes, empty, used)
		w.pods("web", 1, 100)
		w.objects.Pods[0].Node = "used"
		for range 20 {
			for _, a := range w.step().Plan.Actions {
				if _, waits := a.(plan.Wait); !waits {
					t.Errorf("%s: %+v", key, a)
				}
			}
			w.now = w.now.Add(time.Hour)
		}
	}
}
