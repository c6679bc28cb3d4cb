package cluster

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestNewAndApply_NameWhatIsWrong(t *testing.T) {
	with := func(change func(*Shape)) Objects {
		p := app("a", "web")
		change(&p.Shape)
		return Objects{Pods: []Pod{p}}
	}
	offered := func(list ...catalog.Offering) Objects {
		return Objects{Classes: []Class{{Name: "c", Types: []catalog.InstanceType{{Name: "b", Offerings: list}}}}}
	}
	torn := label.Labels{{Key: "app", Value: "web"}, {Key: "app", Value: "db"}}
	twins := []Pod{app("a", "web"), app("b", "web")}
	twins[1].UID = "a"
	for _, c := range []struct {
		o    Objects
		want string
	}{
		{Objects{Pods: []Pod{{Name: "a"}}}, `pod "/a": namespace and name must both be given`},
		{Objects{Pods: []Pod{{}}}, "pod without a name; give it one"},
		{Objects{Pods: []Pod{app("a", "web"), app("a", "db")}}, "pod shop/a is given twice; give it once"},
		{Objects{Pods: twins}, "pod shop/a and pod shop/b have the same uid a; delete one of them"},
		{Objects{Nodes: []Node{{}}}, "node without a name; give it one"},
		{Objects{Pools: []Pool{{}}}, "nodepool without a name; give it one"},
		{Objects{Pools: []Pool{{Name: "p"}, {Name: "p"}}}, "nodepool p is given twice; give it once"},
		{Objects{Pools: []Pool{{Name: "p", UID: "u"}, {Name: "q", UID: "u"}}}, "nodepool p and nodepool q have the same uid u; delete one of them"},
		{with(func(s *Shape) { s.Requests.MilliCPU = -100 }), "pod shop/a: requests of cpu is -100m; it must not be negative"},
		{with(func(s *Shape) { s.Requests.MemoryBytes = -1 }), "pod shop/a: requests of memory is -1 bytes; it must not be negative"},
		{with(func(s *Shape) { s.Requests.EphemeralBytes = -1 }), "pod shop/a: requests of ephemeral-storage is -1 bytes; it must not be negative"},
		{with(func(s *Shape) { s.Requests.PodSlots = -1 }), "pod shop/a: requests of pods is -1; it must not be negative"},
		{with(func(s *Shape) { s.Requests.Extended = []quantity.Amount{{Name: "gpu", Count: -1}} }), "pod shop/a: requests of gpu is -1; it must not be negative"},
		{with(func(s *Shape) { s.Requests.Extended = []quantity.Amount{{Count: 1}} }), "pod shop/a: requests: a resource has no name; give it a name"},
		{with(func(s *Shape) {
			s.Requests.Extended = []quantity.Amount{{Name: "gpu", Count: 1}, {Name: "gpu", Count: 1}}
		}), "pod shop/a: requests of gpu: extended resources must be sorted by name and each be given once"},
		{with(func(s *Shape) { s.Spread = []Spread{{Key: "zone"}} }), "pod shop/a: spread 0 over zone: maxSkew is 0; it must be at least 1"},
		{with(func(s *Shape) { s.Spread = []Spread{{Key: "zone", MaxSkew: 1, MinDomains: -1}} }), "pod shop/a: spread 0 over zone: minDomains is -1; it must not be negative"},
		{with(func(s *Shape) { s.Preferred = []Preference{{Weight: 101}} }), "pod shop/a: preferred node affinity 0: weight is 101; it must be between 1 and 100, or 0 where the term is required"},
		{with(func(s *Shape) { s.PodAntiAffinity = []PodTerm{{Key: "zone", Weight: -1}} }), "pod shop/a: pod anti-affinity 0 over zone: weight is -1; it must be between 1 and 100, or 0 where the term is required"},
		{with(func(s *Shape) { s.Ports = []HostPort{{Port: 65536}} }), "pod shop/a: host port 65536: it must be between 1 and 65535"},
		{with(func(s *Shape) { s.Gang = Gang{Name: "g", Size: -1} }), "pod shop/a: gang g: size is -1; it must not be negative"},
		{Objects{Nodes: []Node{{Name: "n", Allocatable: quantity.Resources{MilliCPU: -1}}}}, "node n: allocatable of cpu is -1m; it must not be negative"},
		{Objects{Claims: []Claim{{Name: "k", Requests: quantity.Resources{MilliCPU: -1}}}}, "nodeclaim k: requests of cpu is -1m; it must not be negative"},
		{Objects{Claims: []Claim{{Name: "k", Planned: []Slot{{"web", -1}}}}}, "nodeclaim k: the number of planned pods of kind web is -1; it must not be negative"},
		{Objects{Pools: []Pool{{Name: "p", Weight: 101}}}, "nodepool p: weight is 101; it must be between 1 and 100, or 0 where none is set"},
		{Objects{Pools: []Pool{{Name: "p", MinValues: []MinValues{{Key: "k"}}}}}, "nodepool p: minValues of k is 0; it must be at least 1"},
		{Objects{Classes: []Class{{Name: "c", Types: []catalog.InstanceType{{Name: "b"}, {Name: "a"}}}}}, `ec2nodeclass c: instance type "a": types must have names, be sorted by them, and each be given once`},
		{Objects{Classes: []Class{{Name: "c", Types: []catalog.InstanceType{{Name: "b", Offerings: []catalog.Offering{{Zone: "z", CapacityType: "spot", Price: -1}}}}}}}, "ec2nodeclass c: instance type b spot in z: price -1 and left 0 must not be negative"},
		{Objects{DaemonSets: []DaemonSet{{Namespace: "n", Name: "d", Shape: Shape{Requests: quantity.Resources{MilliCPU: -1}}}}}, "daemonset n/d: requests of cpu is -1m; it must not be negative"},
		{Objects{Workloads: []Workload{{Kind: "Job", Namespace: "n", Name: "j", Missing: -1}}}, "workload Job/n/j: missing is -1; it must be between 0 and 2147483647"},
		{Objects{Workloads: []Workload{{Kind: "Job", Namespace: "n", Name: "j", Missing: math.MaxInt64}}}, "workload Job/n/j: missing is 9223372036854775807; it must be between 0 and 2147483647"},
		{with(func(s *Shape) { s.Spread = []Spread{{MaxSkew: 1}} }), "pod shop/a: spread 0: topologyKey is empty; set it"},
		{with(func(s *Shape) { s.PodAffinity = []PodTerm{{}} }), "pod shop/a: pod affinity 0: topologyKey is empty; set it"},
		{with(func(s *Shape) { s.Gang.Size = 3 }), "pod shop/a: gang of size 3 has no name; give it a name, or remove the size"},
		{Objects{Pods: []Pod{{Namespace: "shop", Name: "a", Labels: torn}}}, "pod shop/a: label app: labels must be sorted by key and each be given once"},
		{Objects{Nodes: []Node{{Name: "n", Labels: torn}}}, "node n: label app: labels must be sorted by key and each be given once"},
		{Objects{Claims: []Claim{{Name: "k", Labels: torn}}}, "nodeclaim k: label app: labels must be sorted by key and each be given once"},
		{Objects{Pools: []Pool{{Name: "p", Labels: torn}}}, "nodepool p: label app: labels must be sorted by key and each be given once"},
		{Objects{Pools: []Pool{{Name: "p", Disruption: Disruption{After: -time.Second}}}}, "nodepool p: consolidateAfter is -1s; it must not be negative"},
		{Objects{Pools: []Pool{{Name: "p", Limits: []quantity.Amount{{Name: "cpu", Count: -1}}}}}, "nodepool p: limits of cpu is -1m; it must not be negative"},
		{Objects{Pools: []Pool{{Name: "p", Limits: []quantity.Amount{{Name: "cpu", Count: 1}, {Name: "gpu"}, {Name: "cpu", Count: 2}}}}}, "nodepool p: limits of cpu are given twice; give them once"},
		{Objects{Pools: []Pool{{Name: "p", MinValues: []MinValues{{"k", 1}, {"k", 2}}}}}, "nodepool p: minValues of k: they must be sorted by key and each be given once"},
		{offered(catalog.Offering{CapacityType: "spot"}), "ec2nodeclass c: instance type b spot in : zone and capacity type must both be given"},
		{offered(catalog.Offering{Zone: "z", CapacityType: "reserved"}), `ec2nodeclass c: instance type b reserved in z: reservation is ""; an offering must name a reservation if its capacity type is reserved, and no other offering may`},
		{offered(catalog.Offering{Zone: "z", CapacityType: "spot", Reservation: "cr"}), `ec2nodeclass c: instance type b spot in z: reservation is "cr"; an offering must name a reservation if its capacity type is reserved, and no other offering may`},
		{offered(catalog.Offering{Zone: "z", CapacityType: "spot"}, catalog.Offering{Zone: "y", CapacityType: "spot"}, catalog.Offering{Zone: "z", CapacityType: "spot", Price: 1}), "ec2nodeclass c: instance type b spot in z: the offering is given twice; give it once"},
		{Objects{DaemonSets: []DaemonSet{{Name: "d"}}}, `daemonset "/d": namespace and name must both be given`},
		{Objects{Workloads: []Workload{{Namespace: "n", Name: "j"}}}, `workload "/n/j": kind, namespace and name must all be given`},
	} {
		s := build(t, Objects{Pods: []Pod{app("other", "web")}})
		before := view(s)
		for _, on := range []Snapshot{{}, s} {
			next, err := on.Apply(Delta{Put: c.o, Removed: Removed{Pods: []string{"shop/other"}}})
			if err == nil || strings.TrimPrefix(err.Error(), "cluster index: ") != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if diff := cmp.Diff(view(on), view(next)); diff != "" {
				t.Errorf("%s: the snapshot that comes with the error differs: %s", c.want, diff)
			}
		}
		if diff := cmp.Diff(before, view(s)); diff != "" {
			t.Errorf("%s: the previous snapshot changed: %s", c.want, diff)
		}
	}
}
