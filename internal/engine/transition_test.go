package engine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// drawApps adds a few apps that ask for all kinds of places.
func drawApps(rt *rapid.T, w *world) {
	apps := rapid.IntRange(1, 5).Draw(rt, "apps")
	for a := range apps {
		app := fmt.Sprintf("app%d", a)
		other := fmt.Sprintf("app%d", rapid.IntRange(0, apps-1).Draw(rt, "other"))
		key := rapid.SampledFrom([]string{label.Zone, label.Hostname}).Draw(rt, "key")
		kind := rapid.SampledFrom([]string{"plain", "spread", "spread?", "apart", "apart?", "together", "together?", "port", "volume", "prefer", "apart other"}).Draw(rt, "kind")
		w.pods(app, rapid.IntRange(1, 7).Draw(rt, "n"), rapid.Int64Range(100, 3000).Draw(rt, "cpu"), func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": app})
			switch kind {
			case "spread", "spread?":
				p.Shape.Spread = []cluster.Spread{{Key: key, MaxSkew: 1, Soft: kind == "spread?", Selector: pods(app)}}
			case "apart":
				p.Shape.PodAntiAffinity = []cluster.PodTerm{term(key, 0, app)}
			case "apart?":
				p.Shape.PodAntiAffinity = []cluster.PodTerm{term(key, 5, app)}
			case "apart other":
				p.Shape.PodAntiAffinity = []cluster.PodTerm{term(key, 0, other)}
			case "together":
				p.Shape.PodAffinity = []cluster.PodTerm{term(key, 0, app)}
			case "together?":
				p.Shape.PodAffinity = []cluster.PodTerm{term(key, 5, other)}
			case "port":
				p.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}
			case "volume":
				p.Shape.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, "b"))}}
			case "prefer":
				p.Shape.Preferred = []cluster.Preference{{Weight: 1, Node: label.All(label.Is(label.Zone, "b"))}}
			}
		})
	}
}

// A plan's own result needs no further plan, at whatever stage its NodeClaims
// are, and what it nominates is where it may be by every filter.
func TestStep_ItsOwnResultNeedsNoFurtherPlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawApps(rt, w)
		first := w.step()
		launches := of[plan.Launch](first)
		w.order(launches)
		again := func(stage string) {
			out := w.step()
			if more := of[plan.Launch](out); len(more) > 0 {
				rt.Fatalf("%s: %d launches more, first %+v\nafter %d: %s", stage, len(more), more[0], len(launches), fmt.Sprintf("%+v", first.Plan.Outcomes))
			}
		}
		again("ordered")
		w.bringUp(launches)
		again("up")
		out := w.step()
		w.open(out.Plan.Actions)
		checkPlaces(rt, w)
		again("open")
	})
}

// checkPlaces asks the filters about every pod where it is, as if it were the
// last to come.
func checkPlaces(rt *rapid.T, w *world) {
	for i, p := range w.objects.Pods {
		if p.Node == "" {
			continue
		}
		rest := w.objects
		rest.Pods = append(append([]cluster.Pod(nil), w.objects.Pods[:i]...), w.objects.Pods[i+1:]...)
		s, err := cluster.New(rest)
		if err != nil {
			rt.Fatal(err)
		}
		state, _ := s.State(p.Node)
		var ports []cluster.HostPort
		for q := range state.Pods() {
			ports = append(ports, q.Shape.Ports...)
		}
		if free := state.Node.Allocatable.Sub(state.Used); !fit.Node(p.Shape, state.Node.Labels, state.Node.Taints) ||
			fit.PortsConflict(ports, p.Shape.Ports) || !p.Shape.Requests.Fits(free) {
			rt.Fatalf("%s on %s, which has %v free and ports %v taken", p.ID(), p.Node, free, ports)
		}
		hard := p.Shape
		hard.Spread = nil // the skew at the end is not the skew on the way
		table := new(topology.Known).Build(s, []topology.Class{{Namespace: p.Namespace, Labels: p.Labels, Shape: hard}}, false)
		place := topology.Place{Name: p.Node, Labels: state.Node.Labels, Taints: state.Node.Taints}
		if table.Room(0, place) == 0 {
			rt.Fatalf("%s on %s: %s", p.ID(), p.Node, table.Why(0, place))
		}
	}
}
