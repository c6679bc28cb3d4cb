package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// deployedServices is the number of Deployments that Services draws.
const deployedServices = 60

// Service is a Deployment whose pods may have constraints.
type Service struct {
	Name     string
	Labels   label.Labels
	Shape    cluster.Shape
	Replicas int64
}

// cacheLabels are the labels of the pods that others must be near.
func cacheLabels() map[string]string { return map[string]string{"app": "cache"} }

// constraints are what the pods of a service may ask for, by name. A third of the
// services ask for nothing; the others are shared out evenly.
func constraints() []struct {
	name string
	add  func(s *cluster.Shape, i int, own map[string]string)
} {
	zones := [...]string{"us-east-1a", "us-east-1b", "us-east-1c"}
	return []struct {
		name string
		add  func(s *cluster.Shape, i int, own map[string]string)
	}{
		{"zone-spread", func(s *cluster.Shape, _ int, own map[string]string) {
			s.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: selecting(own)}}
		}},
		{"anti-affinity", func(s *cluster.Shape, _ int, own map[string]string) {
			s.PodAntiAffinity = []cluster.PodTerm{alike(label.Hostname, own)}
		}},
		{"near-cache", func(s *cluster.Shape, _ int, _ map[string]string) {
			s.PodAffinity = []cluster.PodTerm{alike(label.Zone, cacheLabels())}
		}},
		{"arm64", func(s *cluster.Shape, _ int, _ map[string]string) {
			s.Selector = label.All(label.Is(label.Arch, "arm64"))
		}},
		{"prefers-zone", func(s *cluster.Shape, i int, _ map[string]string) {
			s.Preferred = []cluster.Preference{{Weight: 50, Node: label.All(label.Is(label.Zone, zones[i%len(zones)]))}}
		}},
		{"host-port", func(s *cluster.Shape, i int, _ map[string]string) {
			s.Ports = []cluster.HostPort{{Protocol: "TCP", Port: int32(9000 + i)}}
		}},
		{"schedule-anyway", func(s *cluster.Shape, _ int, own map[string]string) {
			s.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: selecting(own), Soft: true}}
		}},
	}
}

// Services draws Deployments with every kind of constraint, in the order in which
// they are created: 3 to 20 replicas of 50 to 2,000 millicores and 128 to 4,096 MiB.
// A third of them ask for nothing else; the first of these is the cache.
func Services(seed uint64) []Service {
	d := drawing(seed)
	sizes := [...]int64{50, 100, 250, 500, 750, 1000, 1500, 2000}
	mib := [...]int64{128, 256, 512, 1024, 2048, 4096}
	kinds := constraints()
	out := make([]Service, deployedServices)
	for i := range out {
		name, own := fmt.Sprintf("plain-%d", i), cacheLabels()
		shape := cluster.Shape{Requests: quantity.Resources{
			MilliCPU: sizes[d.IntN(len(sizes))], MemoryBytes: mib[d.IntN(len(mib))] << 20, PodSlots: 1,
		}}
		if k := i - deployedServices/3; k >= 0 {
			name = fmt.Sprintf("%s-%d", kinds[k%len(kinds)].name, i)
		}
		if i == 0 {
			name = own["app"]
		}
		own["app"] = name
		if k := i - deployedServices/3; k >= 0 {
			kinds[k%len(kinds)].add(&shape, k/len(kinds), own)
		}
		out[i] = Service{Name: name, Labels: label.FromMap(own), Shape: shape, Replicas: 3 + d.Int64N(18)}
	}
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// ServicesSetting is Published(32) with arm64 types on sale beside amd64 ones, and
// three DaemonSets.
func ServicesSetting() (Setting, error) {
	s, err := Published(32)
	for i := range s.Terms {
		if s.Terms[i].Key == label.Arch {
			s.Terms[i].Values = []string{"amd64", "arm64"}
		}
	}
	s.DaemonSets = s.DaemonSets[:min(3, len(s.DaemonSets))]
	return s, err
}

// ServicesRun is what came of one run of arriving services.
type ServicesRun struct {
	Over  float64 // per cent that the cost is above the bound when all pods run
	Nodes float64 // then, for each node of the plan from scratch
	Last  float64 // seconds from the last pod's creation to the last launch
}

// free is the limit of a figure that is shown, and not required.
const free = 1 << 20

// UnitServices is a unit that only runs of services report.
const UnitServices = "x-worst-nodes"

// ServicesLimit is what a figure of the runs must not exceed.
type ServicesLimit struct {
	Unit  string
	Name  string
	Text  string // the format of the figure
	Most  float64
	worst bool // the figure is the worst of all runs; else the median
	of    func(ServicesRun) float64
}

// ServicesLimits are the figures of the runs, with what is required of them.
func ServicesLimits() []ServicesLimit {
	over := func(r ServicesRun) float64 { return r.Over }
	nodes := func(r ServicesRun) float64 { return r.Nodes }
	last := func(r ServicesRun) float64 { return r.Last }
	return []ServicesLimit{
		{UnitArrivalsOver, "cost over the bound", "%.1f %%", 7, false, over},
		{"%worst-over", "at worst", "%.1f %%", 12, true, over},
		{"x-nodes", "nodes against the plan from scratch", "%.2f x", free, false, nodes},
		{UnitServices, "nodes at worst", "%.2f x", 1.4, true, nodes},
		{"last-launch-s", "last launch after the last pod", "%.1f s", free, false, last},
		{"worst-last-launch-s", "last launch at worst", "%.1f s", 2, true, last},
	}
}

// Figure is the median or the worst of the runs.
func (l ServicesLimit) Figure(runs []ServicesRun) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = l.of(r)
	}
	slices.SortFunc(values, cmp.Compare[float64])
	if l.worst {
		return values[len(values)-1]
	}
	return values[(len(values)-1)/2]
}

// ServicesRow is the line of the table for these figures: what is required, what
// was measured and what was missed.
func ServicesRow(m Metrics) (required, measured string, missed []string) {
	var may, are []string
	for _, l := range ServicesLimits() {
		are = append(are, l.Name+" "+fmt.Sprintf(l.Text, m[l.Unit]))
		if l.Most == free {
			continue
		}
		may = append(may, l.Name+" <= "+fmt.Sprintf(l.Text, l.Most))
		if m[l.Unit] > l.Most {
			missed = append(missed, l.Name)
		}
	}
	return strings.Join(may, ", "), strings.Join(are, ", "), missed
}
