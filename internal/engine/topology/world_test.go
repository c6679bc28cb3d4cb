package topology_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

const rack = "example.com/rack"

func requirement(key string, op label.Operator, values ...string) label.Requirement {
	r, err := label.NewRequirement(key, op, values...)
	if err != nil {
		panic(err)
	}
	return r
}

func drawSelector(t *rapid.T) cluster.PodSelector {
	switch rapid.IntRange(0, 9).Draw(t, "selector") {
	case 0:
		return cluster.PodSelector{Nothing: true}
	case 1:
		return cluster.PodSelector{}
	case 2:
		return cluster.PodSelector{Match: label.All(requirement("app", label.NotIn, drawApp(t)))}
	case 3:
		return cluster.PodSelector{Match: label.All(requirement("app", label.In, drawApp(t), drawApp(t)))}
	case 4:
		return cluster.PodSelector{Match: label.All(requirement("tier", label.Exists), label.Is("app", drawApp(t)))}
	}
	return cluster.PodSelector{Match: label.All(label.Is("app", drawApp(t)))}
}

func drawApp(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app") }

func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{label.Zone, label.Hostname, rack}).Draw(t, "key")
}

func drawPodLabels(t *rapid.T) label.Labels {
	m := map[string]string{"app": drawApp(t)}
	if rapid.IntRange(0, 2).Draw(t, "tier") == 0 {
		m["tier"] = "x"
	}
	return label.FromMap(m)
}

func drawTerm(t *rapid.T) cluster.PodTerm {
	p := cluster.PodTerm{Key: drawKey(t), Selector: drawSelector(t), Namespaces: []string{"one"}, InNamespaces: cluster.PodSelector{Nothing: true}}
	switch rapid.IntRange(0, 5).Draw(t, "namespaces") {
	case 0:
		p.Namespaces = []string{"one", "two"}
	case 1:
		p.Namespaces, p.InNamespaces = nil, cluster.PodSelector{Match: label.All(label.Is("team", "red"))}
	case 2:
		p.Namespaces, p.InNamespaces = nil, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "red"))}
	case 3:
		p.Namespaces, p.InNamespaces = nil, cluster.PodSelector{}
	}
	if rapid.IntRange(0, 5).Draw(t, "preferred") == 0 {
		p.Weight = 10
	}
	return p
}

func drawShape(t *rapid.T) cluster.Shape {
	var s cluster.Shape
	if rapid.IntRange(0, 3).Draw(t, "selects") == 0 {
		s.Selector = label.All(label.Is("pool", "x"))
	}
	if rapid.Bool().Draw(t, "tolerates") {
		s.Tolerations = []cluster.Toleration{{Key: "gpu", Exists: true}}
	}
	kinds := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3).Draw(t, "rules")
	for _, kind := range kinds {
		switch kind {
		case 0:
			s.Spread = append(s.Spread, cluster.Spread{
				Key: drawKey(t), MaxSkew: rapid.Int64Range(1, 3).Draw(t, "skew"), MinDomains: rapid.Int64Range(0, 4).Draw(t, "domains"),
				Soft: rapid.IntRange(0, 5).Draw(t, "soft") == 0, Selector: drawSelector(t),
				IgnoreAffinity: rapid.Bool().Draw(t, "ignore"), HonorTaints: rapid.Bool().Draw(t, "honor"),
			})
		case 1:
			s.PodAffinity = append(s.PodAffinity, drawTerm(t))
		default:
			s.PodAntiAffinity = append(s.PodAntiAffinity, drawTerm(t))
		}
	}
	return s
}

func drawPlaceLabels(t *rapid.T, name string) label.Labels {
	m := map[string]string{}
	if name != "" && rapid.IntRange(0, 7).Draw(t, "host") != 0 {
		m[label.Hostname] = name
	}
	if rapid.IntRange(0, 7).Draw(t, "zoned") != 0 {
		m[label.Zone] = rapid.SampledFrom([]string{"z1", "z2", "z3"}).Draw(t, "zone")
	}
	if rapid.Bool().Draw(t, "racked") {
		m[rack] = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")
	}
	if rapid.Bool().Draw(t, "pooled") {
		m["pool"] = "x"
	}
	return label.FromMap(m)
}

func drawTaints(t *rapid.T) []cluster.Taint {
	if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
		return []cluster.Taint{{Key: "gpu", Effect: cluster.NoSchedule}}
	}
	return nil
}

// drawPlace is a node, a place to come that has a name, or one that nobody has
// seen before.
func (w *twin) drawPlace(t *rapid.T) topology.Place {
	i := rapid.IntRange(0, len(w.places)+1).Draw(t, "place")
	switch {
	case i < len(w.places):
		return w.places[i]
	case i == len(w.places):
		name := fmt.Sprintf("new-%d", len(w.places))
		return topology.Place{Name: name, Labels: drawPlaceLabels(t, ""), Taints: drawTaints(t)}
	}
	return topology.Place{Name: "fresh", Labels: drawPlaceLabels(t, ""), Taints: drawTaints(t)}
}

func drawWorld(t *rapid.T) (*twin, *topology.Table) {
	w := &twin{namespaces: map[string]label.Labels{
		"one": label.FromMap(map[string]string{"team": "red"}), "two": nil,
	}}
	var o cluster.Objects
	for name, labels := range w.namespaces {
		o.Namespaces = append(o.Namespaces, cluster.Namespace{Name: name, Labels: labels})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		name := fmt.Sprintf("node-%d", i)
		n := cluster.Node{Name: name, Labels: drawPlaceLabels(t, name), Taints: drawTaints(t)}
		o.Nodes = append(o.Nodes, n)
		w.places = append(w.places, topology.Place{Name: name, Labels: n.Labels, Taints: n.Taints})
	}
	w.nodes = len(w.places)
	for range rapid.IntRange(1, 4).Draw(t, "classes") {
		w.classes = append(w.classes, topology.Class{
			Namespace: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "namespace"), Labels: drawPodLabels(t), Shape: drawShape(t),
		})
	}
	for i, c := range w.classes {
		o.Workloads = append(o.Workloads, cluster.Workload{Kind: "ReplicaSet", Namespace: c.Namespace, Name: fmt.Sprint(i), Missing: 1, Labels: c.Labels, Shape: c.Shape})
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "bound") {
		c := w.classes[rapid.IntRange(0, len(w.classes)-1).Draw(t, "of")]
		p := cluster.Pod{
			Namespace: c.Namespace, Name: fmt.Sprintf("p%d", i), UID: fmt.Sprint(i), Labels: c.Labels, Shape: c.Shape,
			Node: "gone", Deleting: rapid.IntRange(0, 4).Draw(t, "deleting") == 0,
		}
		if k := rapid.IntRange(0, w.nodes).Draw(t, "on"); k < w.nodes {
			p.Node = w.places[k].Name
		}
		o.Pods = append(o.Pods, p)
		w.pods = append(w.pods, twinPod{p.Namespace, p.Labels, p.Shape.PodAntiAffinity, p.Node, p.Deleting})
	}
	w.exact = rapid.Bool().Draw(t, "exact")
	s, known := w.grow(t, o)
	table := known.Build(s, w.classes, w.exact)
	if rapid.Bool().Draw(t, "offer") {
		for i := range w.classes {
			table.Offer(i, label.Zone, "z9")
		}
		w.offered = map[string]string{label.Zone: "z9"}
	}
	return w, table
}

// grow makes the cluster in two steps, with a table between them that pods were added to. What
// is known of the nodes from then may not show in a table of the cluster as it is at last.
func (w *twin) grow(t *rapid.T, o cluster.Objects) (cluster.Snapshot, *topology.Known) {
	early, late := o, cluster.Objects{}
	n := rapid.IntRange(0, len(o.Nodes)).Draw(t, "early nodes")
	early.Nodes, late.Nodes = slices.Clone(o.Nodes[:n]), slices.Clone(o.Nodes[n:])
	for i := range rapid.IntRange(0, n).Draw(t, "changed nodes") {
		late.Nodes = append(late.Nodes, o.Nodes[i])
		early.Nodes[i].Labels, early.Nodes[i].Taints = drawPlaceLabels(t, o.Nodes[i].Name), drawTaints(t)
	}
	k := rapid.IntRange(0, len(o.Pods)).Draw(t, "early pods")
	early.Pods, late.Pods = o.Pods[:k], o.Pods[k:]
	s, err := cluster.New(early)
	if err != nil {
		t.Fatal(err)
	}
	known := new(topology.Known)
	table := known.Build(s, w.classes, w.exact)
	for i := range w.classes {
		table.Offer(i, label.Zone, "z8")
		table.Add(i, w.drawPlace(t), 1)
	}
	if rapid.Bool().Draw(t, "next Step") {
		next := known.Next()
		known = &next
	}
	if s, err = s.Apply(cluster.Delta{Put: late}); err != nil {
		t.Fatal(err)
	}
	return s, known
}
