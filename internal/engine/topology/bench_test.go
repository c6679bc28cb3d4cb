package topology_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// crowd has nodes with pods of every class on some of them. Each class is one of
// five kinds; where apps is small, selectors select pods of many classes.
func crowd(b *testing.B, nodes, classes, apps int) (cluster.Snapshot, []topology.Class, []topology.Place) {
	b.Helper()
	d := rand.New(rand.NewPCG(1, 2))
	var o cluster.Objects
	var places []topology.Place
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		n := cluster.Node{Name: name, Labels: label.FromMap(map[string]string{
			label.Hostname: name, label.Zone: fmt.Sprint("z", i%3), label.Arch: "amd64", label.OS: "linux", label.InstanceType: "m5.large",
			label.CapacityType: "spot", label.NodePool: "general", label.Region: "us-west-2",
		})}
		o.Nodes = append(o.Nodes, n)
		places = append(places, topology.Place{Name: name, Labels: &n.Labels})
	}
	var list []topology.Class
	for i := range classes {
		app := fmt.Sprint("app-", i%apps)
		c := topology.Class{Namespace: "default", Labels: label.FromMap(map[string]string{"app": app})}
		c.Shape.Requests = quantity.Resources{MilliCPU: int64(i) + 1, PodSlots: 1}
		like := cluster.PodSelector{Match: label.All(label.Is("app", app))}
		term := cluster.PodTerm{Key: label.Zone, Selector: like, Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true}}
		switch i * 5 / classes {
		case 1:
			c.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: like}}
		case 2:
			c.Shape.Spread = []cluster.Spread{{Key: label.Hostname, MaxSkew: 1, Selector: like}}
		case 3:
			c.Shape.PodAffinity = []cluster.PodTerm{term}
		case 4:
			term.Key = label.Hostname
			c.Shape.PodAntiAffinity = []cluster.PodTerm{term}
		}
		list = append(list, c)
		for k := range 5 {
			p := cluster.Pod{Namespace: "default", Name: fmt.Sprintf("p-%d-%d", i, k), Labels: c.Labels, Shape: c.Shape}
			if nodes > 0 && k < 4 {
				p.Node = o.Nodes[d.IntN(nodes)].Name
			}
			o.Pods = append(o.Pods, p)
		}
	}
	s, err := cluster.New(o)
	if err != nil {
		b.Fatal(err)
	}
	return s, list, places
}

func BenchmarkTable(b *testing.B) {
	for _, c := range []struct {
		name                 string
		nodes, classes, apps int
	}{
		{"2000classes/empty/7apps", 0, 2000, 7},
		{"2000classes/2000nodes/7apps", 2000, 2000, 7},
		{"2000classes/2000nodes/2000apps", 2000, 2000, 2000},
	} {
		s, classes, places := crowd(b, c.nodes, c.classes, c.apps)
		b.Run("Build/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				new(topology.Known).Build(s, classes, false)
			}
		})
		b.Run("BuildAgain/"+c.name, func(b *testing.B) { // as for each Step in which no node changes
			var known topology.Known
			known.Build(s, classes, false)
			b.ReportAllocs()
			for b.Loop() {
				known = known.Next()
				known.Build(s, classes, false)
			}
		})
		if c.nodes == 0 {
			continue
		}
		table := new(topology.Known).Build(s, classes, false)
		b.Run("Room/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				table.Room(i%len(classes), places[i*7%len(places)])
			}
		})
		b.Run("Add/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				table.Add(i%len(classes), places[i*7%len(places)], 1-int64(i&1)*2)
			}
		})
	}
}
