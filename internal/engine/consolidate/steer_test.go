package consolidate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Eight nodes of equal price run a pod each. Four have much memory, and come first by
// name; memory is what the pods are short of. Two nodes with much memory hold everything.
// If these were deleted first, five nodes would have to stay.
func TestSearch_NodesThatHaveWhatIsScarceStay(t *testing.T) {
	t.Parallel()
	var o cluster.Objects
	for i := range 8 {
		family, gib := "a-large", int64(64)
		if i >= 4 {
			family, gib = "b-small", 16
		}
		name := fmt.Sprint(family, i)
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, UID: name, Ready: true, Allocatable: quantity.Resources{MilliCPU: 8000, MemoryBytes: gib << 30, EphemeralBytes: 1 << 40, PodSlots: 100}})
		o.Pods = append(o.Pods, cluster.Pod{
			Namespace: "default", Name: name, UID: name, Node: name, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web"},
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, MemoryBytes: 14 << 30, PodSlots: 1}},
		})
	}
	gone := result(Begin(Question{Nodes: nodesOf(t, o), MinSaving: 1}))
	if len(gone) != 6 || strings.Count(fmt.Sprint(gone), "b-small") != 4 {
		t.Errorf("%v go, want six nodes, and all of those with little memory", gone)
	}
}
