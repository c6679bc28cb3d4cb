package cluster

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

func TestNodeKinds_ChangeWithLabelsAndTaintsOnly(t *testing.T) {
	node := func(name, disk string) Node {
		return Node{Name: name, Labels: label.FromMap(map[string]string{"disk": disk, label.Hostname: name, label.NodeName: name})}
	}
	s := build(t, Objects{Nodes: []Node{node("n0", "ssd"), node("n1", "ssd"), node("n2", "hdd")}})
	put := func(d Delta) {
		t.Helper()
		var err error
		if s, err = s.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	has := func(disk string) bool {
		return s.NodeKinds().Any(func(l label.Lookup, taints []Taint) bool {
			v, _ := l.Get("disk")
			return v == disk && len(taints) == 0
		})
	}
	if s.kinds.size != 2 || !has("ssd") || !has("hdd") || has("nvme") {
		t.Errorf("%d kinds", s.kinds.size)
	}
	before := s.NodeKinds()
	pod := app("a", "web")
	pod.Node = "n0"
	put(Delta{Put: Objects{Pods: []Pod{pod}}})
	if s.NodeKinds() != before {
		t.Error("a pod makes other kinds of nodes")
	}
	put(Delta{Removed: Removed{Nodes: []string{"n0"}}})
	if !has("ssd") {
		t.Error("the last node of a kind is forgotten")
	}
	tainted := node("n1", "ssd")
	tainted.Taints = []Taint{{Key: "a", Effect: NoSchedule}}
	put(Delta{Put: Objects{Nodes: []Node{tainted, node("n2", "nvme")}}})
	if has("ssd") || has("hdd") || !has("nvme") || s.kinds.size != 2 {
		t.Errorf("%d kinds", s.kinds.size)
	}
}
