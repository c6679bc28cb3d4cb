package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

func TestAsk_TellsThePeerOfEveryConstraint(t *testing.T) {
	t.Parallel()
	kinds := bench.Kinds()
	q, err := ask(bench.Fake(), append(bench.Mixed(1, len(kinds), kinds...), bench.Preferring(1, 1)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Types) != 400 || len(q.Types[0].Offers) != 5 || q.Types[0].Capacity.Cpu().Value() != 1 || q.Types[0].Reserved.Cpu().MilliValue() != 100 {
		t.Errorf("%d types, the first is %+v", len(q.Types), q.Types[0])
	}
	spreads := func(i int) string { return q.Pods[i].Spec.TopologySpreadConstraints[0].TopologyKey }
	if spreads(1) != corev1.LabelTopologyZone || spreads(2) != corev1.LabelHostname {
		t.Errorf("spread over %s and %s", spreads(1), spreads(2))
	}
	together := q.Pods[3].Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(together) != 1 || together[0].LabelSelector.MatchLabels["my-affinity"] != q.Pods[3].Labels["my-affinity"] {
		t.Errorf("attracted by %+v", together)
	}
	apart := q.Pods[4].Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(apart) != 1 || apart[0].TopologyKey != corev1.LabelHostname {
		t.Errorf("excluded by %+v", apart)
	}
	prefers := q.Pods[5].Spec.Affinity
	if len(prefers.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 ||
		len(prefers.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 2 ||
		len(prefers.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) != 0 {
		t.Errorf("prefers %+v", prefers)
	}
}

func TestAskFleet_TellsWhereEveryPodRuns(t *testing.T) {
	t.Parallel()
	fleet, err := bench.ScaledIn(1, 10)
	if err != nil {
		t.Fatal(err)
	}
	q, err := askFleet(fleet)
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]bool{}
	for _, n := range q.Nodes {
		nodes[n.Name] = n.Type != "" && n.Zone != "" && n.CapacityType == "on-demand"
	}
	if len(nodes) < 100 || len(q.Pods) != 1_000 || q.Budget != "10%" {
		t.Errorf("%d nodes, %d pods, budget %s", len(nodes), len(q.Pods), q.Budget)
	}
	for _, p := range q.Pods {
		if !nodes[p.Spec.NodeName] {
			t.Fatalf("pod %s runs on %q, which the peer is not told about", p.Name, p.Spec.NodeName)
		}
	}
}

func TestAsk_RefusesWhatThePeerWouldNotBeTold(t *testing.T) {
	t.Parallel()
	pod := bench.Preferring(1, 1)[0]
	pod.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}
	if _, err := ask(bench.Fake(), []cluster.Pod{pod}); err == nil || !strings.Contains(err.Error(), pod.ID()) {
		t.Errorf("error %v does not name the pod %s", err, pod.ID())
	}
}
