package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// ofTeam gives pods the label that spreads of the team count.
func ofTeam(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "team"}) }

func overTeam(skew int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		ofTeam(p)
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: skew, Selector: pods("team")}}
	}
}

// zonesOf lists the zones of launches that hold pods of the name.
func zonesOf(out engine.Output, name string) (all []string) {
	for _, l := range of[plan.Launch](out) {
		if slices.ContainsFunc(l.Pods, func(id string) bool { return strings.HasPrefix(id, "default/"+name+"-") }) {
			all = append(all, strings.Join(l.Zones, " or "))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// keptOff says which pods are spread among too many of the team, once all that is
// launched has its pods.
func keptOff(w *world, out engine.Output) string {
	zone, count := map[string]string{}, map[string]int64{"a": 0, "b": 0}
	for _, l := range of[plan.Launch](out) {
		for _, id := range l.Pods {
			zone[id] = strings.Join(l.Zones, " or ")
		}
	}
	for _, p := range w.objects.Pods {
		if app, _ := p.Labels.Get("app"); app == "team" && zone[p.ID()] != "" {
			count[zone[p.ID()]]++
		}
	}
	spread := func(p cluster.Pod) bool { return len(p.Shape.Spread) > 0 && zone[p.ID()] != "" }
	if len(count) > 2 && slices.ContainsFunc(w.objects.Pods, spread) {
		return fmt.Sprintf("pods of open zones count for none: %v", count)
	}
	for _, p := range w.objects.Pods {
		if z := zone[p.ID()]; spread(p) && count[z]-min(count["a"], count["b"]) > p.Shape.Spread[0].MaxSkew {
			return fmt.Sprintf("%s in %s: %v", p.Name, z, count)
		}
	}
	return ""
}

// A pod counts for a spread once it has a zone. One that is launched in any of
// several, and lands where the spread pods are, keeps them off.
func TestStep_PodsThatASpreadCountsAreLaunchedInOneZone(t *testing.T) {
	w := newWorld(t).pods("web", 2, 1000, overTeam(1)).pods("plain", 4, 900, ofTeam).pods("other", 4, 800)
	out := w.step()
	if why := keptOff(w, out); why != "" || launchedFor(out) != 10 {
		t.Errorf("%d of 10 pods launched for, %s", launchedFor(out), why)
	}
}

func TestStep_PodsThatNoSpreadCountsAreLaunchedInAnyZone(t *testing.T) {
	for name, web := range map[string]func(*cluster.Pod){
		"other pods":        func(p *cluster.Pod) { overTeam(1)(p); p.Shape.Spread[0].Selector = pods("web") },
		"a namespace":       func(p *cluster.Pod) { overTeam(1)(p); p.Namespace = "elsewhere" },
		"hostnames":         func(p *cluster.Pod) { overTeam(1)(p); p.Shape.Spread[0].Key = label.Hostname },
		"what is preferred": func(p *cluster.Pod) { overTeam(1)(p); p.Shape.Spread[0].Soft = true },
	} {
		// They fill their nodes, so that nothing else decides about the zones.
		out := newWorld(t).pods("web", 2, 1000, web).pods("plain", 2, 3900, ofTeam).step()
		if zones := zonesOf(out, "plain"); !slices.Equal(zones, []string{"a or b"}) {
			t.Errorf("a spread over %s: launched in %q", name, zones)
		}
	}
}

// Only some zones have what is large enough, only some have what must be near the
// pods that count, and only some have the label at all.
func TestStep_PodsThatASpreadCountsHaveAPlaceWhereverOthersHave(t *testing.T) {
	inB := func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, "b")) }
	for name, build := range map[string]func(*world) *world{
		"large ones": func(w *world) *world {
			for i := 1; i < 3; i++ {
				w.objects.Classes[0].Types[i].Offerings = slices.DeleteFunc(w.objects.Classes[0].Types[i].Offerings, func(o catalog.Offering) bool { return o.Zone == "a" })
			}
			return w.pods("plain", 2, 3500, ofTeam)
		},
		"ones that others follow": func(w *world) *world {
			return w.pods("plain", 3, 900, ofTeam, func(p *cluster.Pod) { p.Labels = p.Labels.With("lead", "x") }).
				pods("follows", 2, 700, inB, func(p *cluster.Pod) {
					p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "")}
					p.Shape.PodAffinity[0].Selector = cluster.PodSelector{Match: label.All(label.Is("lead", "x"))}
				})
		},
		"no label": func(w *world) *world {
			return w.pods("plain", 3, 900, ofTeam).pods("rack", 1, 900, overTeam(1), func(p *cluster.Pod) { p.Shape.Spread[0].Key = "rack" })
		},
	} {
		w := build(newWorld(t).pods("web", 2, 1000, overTeam(1)))
		out := w.step()
		for _, o := range out.Plan.Outcomes {
			if o.Verdict == plan.Unplaceable && !strings.HasPrefix(o.Pods[0], "default/rack") {
				t.Errorf("%s: %s", name, o.Explain())
			}
		}
		if why := keptOff(w, out); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// What is launched in pools of less weight later does not keep off what was launched
// before.
func TestStep_PodsThatASpreadCountsGoWhereTheyKeepNobodyOff(t *testing.T) {
	taint := cluster.Taint{Key: "x", Effect: cluster.NoSchedule}
	w := newWorld(t).pool(cluster.Pool{Name: "first", Weight: 10, Taints: []cluster.Taint{taint}})
	w.pods("web", 2, 1000, overTeam(1), func(p *cluster.Pod) { p.Shape.Tolerations = []cluster.Toleration{{Key: "x", Exists: true}} })
	out := w.pods("plain", 4, 900, ofTeam).step()
	if why := keptOff(w, out); why != "" || launchedFor(out) != 6 {
		t.Errorf("%d of 6 pods launched for, %s", launchedFor(out), why)
	}
}

func TestStep_WhatIsLaunchedKeepsNoSpreadPodOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		skew := int64(rapid.IntRange(1, 2).Draw(rt, "skew"))
		for i := range rapid.IntRange(2, 5).Draw(rt, "classes") {
			with := []func(*cluster.Pod){func(*cluster.Pod) {}}
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				with = append(with, overTeam(skew))
			case 1, 2:
				with = append(with, ofTeam)
			}
			if rapid.IntRange(0, 3).Draw(rt, "apart") == 0 {
				with = append(with, func(p *cluster.Pod) { p.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}} })
			}
			w.pods(fmt.Sprint("class", i), rapid.IntRange(1, 6).Draw(rt, "pods"), int64(rapid.IntRange(1, 37).Draw(rt, "cpu"))*100, with...)
		}
		out := w.step()
		if why := keptOff(w, out); why != "" {
			rt.Fatal(why)
		}
	})
}
