package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

const team = "example.com/team"

// leaving lets the first pool leave a label of the user's to the pods.
func (w *world) leaving(rs ...label.Requirements) *world {
	for _, r := range rs {
		w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(r)
	}
	return w
}

// asks lets pods ask for nodes with these labels.
func asks(rs label.Requirements) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.NodeAffinity = []label.Requirements{rs} }
}

// nodeFor is the launch for the pod, and the reasons why there is none.
func nodeFor(out engine.Output, pod string) (l plan.Launch, found bool, why string) {
	for _, o := range out.Plan.Outcomes {
		if slices.Contains(o.Pods, "default/"+pod) {
			why = o.Explain()
			for _, l := range of[plan.Launch](out) {
				if l.Name == o.On {
					return l, true, why
				}
			}
		}
	}
	return l, false, why
}

func TestStep_PodsChooseTheValueOfALabelThatThePoolLeavesOpen(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf("t%03d", i)
	}
	for name, c := range map[string]struct {
		pool []label.Requirements
		pods []label.Requirements
		want []string // the value for each pod
	}{
		"Exists":               {[]label.Requirements{require(t, team, label.Exists)}, []label.Requirements{require(t, team, label.In, "red"), require(t, team, label.In, "blue")}, []string{"red", "blue"}},
		"NotIn":                {[]label.Requirements{require(t, team, label.NotIn, "ops")}, []label.Requirements{require(t, team, label.In, "red"), require(t, team, label.In, "blue")}, []string{"red", "blue"}},
		"Exists and NotIn":     {[]label.Requirements{require(t, team, label.Exists), require(t, team, label.NotIn, "ops")}, []label.Requirements{require(t, team, label.In, "red"), require(t, team, label.Exists)}, []string{"red", "red"}},
		"Gt":                   {[]label.Requirements{require(t, team, label.Gt, "0")}, []label.Requirements{require(t, team, label.In, "3")}, []string{"3"}},
		"Gt and Lt":            {[]label.Requirements{require(t, team, label.Gt, "2"), require(t, team, label.Lt, "9")}, []label.Requirements{require(t, team, label.In, "8"), require(t, team, label.In, "3")}, []string{"8", "3"}},
		"Gte and Lte":          {[]label.Requirements{require(t, team, label.Gte, "2"), require(t, team, label.Lte, "9")}, []label.Requirements{require(t, team, label.In, "9"), require(t, team, label.In, "2")}, []string{"9", "2"}},
		"one value for both":   {[]label.Requirements{require(t, team, label.Exists)}, []label.Requirements{require(t, team, label.Gt, "5"), require(t, team, label.NotIn, "6")}, []string{"7", "7"}},
		"no value for both":    {[]label.Requirements{require(t, team, label.Exists)}, []label.Requirements{require(t, team, label.Gt, "5"), require(t, team, label.Lt, "3")}, []string{"6", "0"}},
		"NotIn the first":      {[]label.Requirements{require(t, team, label.Exists)}, []label.Requirements{require(t, team, label.NotIn, "0")}, []string{"1"}},
		"In of many":           {[]label.Requirements{require(t, team, label.In, many...)}, []label.Requirements{require(t, team, label.In, "t299")}, []string{"t299"}},
		"Exists where any may": {[]label.Requirements{require(t, team, label.NotIn, "0")}, []label.Requirements{require(t, team, label.Exists)}, []string{"1"}},
		"the empty value":      {[]label.Requirements{require(t, team, label.Exists)}, []label.Requirements{require(t, team, label.In, "")}, []string{""}},
	} {
		w := newWorld(t).leaving(c.pool...)
		for i, r := range c.pods {
			w.pods(fmt.Sprintf("p%d", i), 1, 500, asks(r))
		}
		out := w.step()
		checkSound(t, w.objects, out)
		for i, want := range c.want {
			l, found, why := nodeFor(out, fmt.Sprintf("p%d-00", i))
			if got, there := l.Labels.Get(team); !found || !there || got != want {
				t.Errorf("%s: pod %d: node with %q, want %q: %s", name, i, got, want, why)
			}
		}
	}
}

func TestStep_APodThatAsksForNothingGetsAnyValueThatThePoolAdmits(t *testing.T) {
	for want, r := range map[string]label.Requirements{"0": require(t, team, label.Exists), "4": require(t, team, label.Gt, "3"), "": require(t, team, label.NotIn, "ops")} {
		w := newWorld(t).leaving(r).pods("web", 1, 500)
		l, found, why := nodeFor(w.step(), "web-00")
		if got, there := l.Labels.Get(team); !found || got != want || there != (want != "") {
			t.Errorf("%s: node with %q, want %q: %s", r, got, want, why)
		}
	}
}

func TestStep_TheLabelOfThePoolsTemplateWins(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists))
	w.objects.Pools[0].Labels = label.FromMap(map[string]string{team: "ops"})
	w.pods("red", 1, 500, asks(require(t, team, label.In, "red"))).pods("ops", 1, 500, asks(require(t, team, label.In, "ops")))
	out := w.step()
	if _, found, _ := nodeFor(out, "red-00"); found {
		t.Error("a node for a value that the template does not have")
	}
	if l, found, why := nodeFor(out, "ops-00"); !found || l.Labels.Map()[team] != "ops" {
		t.Errorf("labels %v: %s", l.Labels, why)
	}
}

func TestStep_APodThatAsksForARefusedValueIsToldTheRequirementOfThePool(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists), require(t, team, label.NotIn, "ops")).pods("ops", 1, 500, asks(require(t, team, label.In, "ops")))
	_, found, why := nodeFor(w.step(), "ops-00")
	if found || !strings.Contains(why, "the pool has "+team+" NotIn [ops], the pod asks for "+team+" In [ops]") {
		t.Errorf("found %t: %s", found, why)
	}
}

func TestStep_AValueThatNoLabelCanHaveLaunchesNothing(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists)).pods("bad", 1, 500, asks(require(t, team, label.In, "not a value!")))
	if _, found, _ := nodeFor(w.step(), "bad-00"); found {
		t.Error("a node with a label that the API server refuses")
	}
}

func TestStep_PreferredValuesAreGivenUpOnlyWhereThePoolRefusesThem(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.NotIn, "ops"))
	for _, value := range []string{"red", "ops"} {
		w.pods(value, 1, 500, func(p *cluster.Pod) {
			p.Shape.Preferred = []cluster.Preference{{Weight: 1, Node: require(t, team, label.In, value)}}
		})
	}
	out := w.step()
	if l, found, why := nodeFor(out, "red-00"); !found || l.Labels.Map()[team] != "red" {
		t.Errorf("labels %v: %s", l.Labels, why)
	}
	if l, found, why := nodeFor(out, "ops-00"); !found || l.Labels.Map()[team] == "ops" {
		t.Errorf("labels %v: %s", l.Labels, why)
	}
}

// 30 times 10 combinations are too many rows. The pods get those that they ask for.
func TestStep_WhereTheCombinationsAreTooManyPodsGetTheirOwn(t *testing.T) {
	var first, second []label.Requirements
	for i := range 30 {
		first = append(first, require(t, team, label.In, fmt.Sprintf("t%d", i)))
	}
	for i := range 10 {
		second = append(second, require(t, "tier", label.In, fmt.Sprintf("r%d", i)))
	}
	w := newWorld(t).leaving(require(t, team, label.Exists), require(t, "tier", label.Exists))
	for i, r := range first {
		w.pods(fmt.Sprintf("t%d", i), 1, 500, asks(r))
	}
	for i, r := range second {
		w.pods(fmt.Sprintf("r%d", i), 1, 300, asks(r))
	}
	w.pods("both", 1, 700, asks(first[7].And(second[5])))
	out := w.step()
	checkSound(t, w.objects, out)
	for _, o := range out.Plan.Outcomes {
		if o.Verdict != plan.OnLaunch {
			t.Error(o.Explain())
		}
	}
	if l, _, _ := nodeFor(out, "both-00"); l.Labels.Map()[team] != "t7" || l.Labels.Map()["tier"] != "r5" {
		t.Errorf("labels %v", l.Labels)
	}
}

func TestStep_ThreeHundredValuesAtOnceGetTheirNodes(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists))
	for i := range 300 {
		w.pods(fmt.Sprintf("t%d", i), 1, 500, asks(require(t, team, label.In, fmt.Sprintf("t%d", i))))
	}
	if n := len(of[plan.Launch](w.step())); n != 300 {
		t.Errorf("%d nodes", n)
	}
}

// A pod that must be beside others in a domain of the user's needs the domain's value.
func TestStep_PodsGetTheValueOfADomainThatIsThere(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists))
	w.pods("first", 1, 1500, asks(require(t, team, label.In, "red")), func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "x"}) }).running()
	w.pods("beside", 1, 1500, func(p *cluster.Pod) {
		p.Shape.PodAffinity = []cluster.PodTerm{{Key: team, Namespaces: []string{"default"}, Selector: pods("x")}}
	})
	if l, found, why := nodeFor(w.step(), "beside-00"); !found || l.Labels.Map()[team] != "red" {
		t.Errorf("labels %v: %s", l.Labels, why)
	}
}

func TestStep_SpreadOverAnOpenLabelWithListedValuesUsesThemAll(t *testing.T) {
	w := newWorld(t).leaving(require(t, "capacity-spread", label.In, "1", "2", "3"))
	w.pods("web", 6, 500, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "x"})
		p.Shape.Spread = []cluster.Spread{{Key: "capacity-spread", MaxSkew: 1, Selector: pods("x")}}
	})
	values := map[string]int{}
	for _, l := range of[plan.Launch](w.step()) {
		values[l.Labels.Map()["capacity-spread"]] += len(l.Pods)
	}
	if len(values) != 3 || values["1"] != 2 || values["2"] != 2 {
		t.Errorf("pods by value: %v", values)
	}
}

// Each of two teams has a node that is too large.
func TestStep_AMoveKeepsTheValuesThatPodsAskFor(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists))
	w.objects.Pools[0].Disruption = saving()
	for _, value := range []string{"red", "blue"} {
		w.pods(value, 1, 3000, asks(require(t, team, label.In, value)))
	}
	w.running()
	for i := range w.objects.Pods {
		w.objects.Pods[i].Shape.Requests.MilliCPU = 400 // resized in place
	}
	w.now = w.now.Add(time.Hour)
	launched := map[string]bool{}
	for range 30 {
		out := w.step()
		checkSound(t, w.objects, out)
		for _, l := range of[plan.Launch](out) {
			launched[l.Labels.Map()[team]] = true
		}
		w.now = w.now.Add(10 * time.Second)
	}
	if len(launched) == 0 || launched["0"] {
		t.Errorf("launched for %v, want nodes for the teams", launched)
	}
}

func TestStep_MinValuesOfALabelThatOneNodeHasOnlyOneValueOf(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists)).pods("web", 1, 500, asks(require(t, team, label.In, "red")))
	w.objects.Pools[0].MinValues = []cluster.MinValues{{Key: team, Count: 2}}
	if _, found, why := nodeFor(w.step(), "web-00"); found || !strings.Contains(why, team+": the pool asks for 2 values, nodes that hold the pod have 1") {
		t.Errorf("found %t: %s", found, why)
	}
	w.policy.BestEffortMinValues = true
	if l, found, why := nodeFor(w.step(), "web-00"); !found || !l.MinValuesRelaxed || l.Labels.Map()[team] != "red" {
		t.Errorf("labels %v: %s", l.Labels, why)
	}
}

// Whatever the pool leaves open: a pod whose value it admits gets a node with this value,
// and another pod none.
func TestStep_EachAdmittedValueGetsItsNode(t *testing.T) {
	values := []string{"red", "blue", "0", "1", "3", "7", "12"}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		keys := []string{team, "tier"}[:rapid.IntRange(1, 2).Draw(rt, "keys")]
		draw := func(name, key string) label.Requirements {
			one := func() []string { return []string{rapid.SampledFrom(values[2:]).Draw(rt, name+" bound")} }
			some := func() []string { return rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(rt, name+" values") }
			switch op := rapid.SampledFrom([]label.Operator{label.In, label.NotIn, label.Exists, label.Gt, label.Lt, label.Gte, label.Lte}).Draw(rt, name); op {
			case label.In, label.NotIn:
				return require(t, key, op, some()...)
			case label.Exists:
				return require(t, key, op)
			default:
				return require(t, key, op, one()...)
			}
		}
		for _, key := range keys {
			for range rapid.IntRange(1, 2).Draw(rt, "requirements") {
				w.leaving(draw("pool", key))
			}
		}
		asked := map[string]label.Requirements{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "pods") {
			var rs label.Requirements
			for _, key := range keys {
				if rapid.Bool().Draw(rt, "asks") {
					rs = rs.And(draw("pod", key))
				}
			}
			name := fmt.Sprintf("p%d", i)
			asked[name+"-00"] = rs
			if len(rs) > 0 {
				w.pods(name, 1, rapid.SampledFrom([]int64{200, 900, 1800}).Draw(rt, "size"), asks(rs))
			} else {
				w.pods(name, 1, 200)
			}
		}
		out := w.step()
		checkSound(rt, w.objects, out)
		for name, rs := range asked {
			all := rs.And(w.objects.Pools[0].Requirements)
			_, refused := all.Contradiction()
			possible := !refused
			for _, key := range keys {
				r, _ := all.Get(key)
				if _, some := r.Some(); !some && !r.AdmitsAbsence() {
					possible = false
				}
			}
			l, found, why := nodeFor(out, name)
			if found != possible {
				rt.Fatalf("%s asks %s of %s: launched %t: %s", name, rs, w.objects.Pools[0].Requirements, found, why)
			}
			if unmet, not := rs.Unmet(l.Labels); found && not {
				rt.Fatalf("%s asks %s, and its node has %v", name, unmet, l.Labels)
			}
		}
	})
}

// Teams that need different resources share no node, so the prices of one team say
// nothing about nodes of the other.
func TestStep_TheCertificateCountsThatTeamsShareNoNode(t *testing.T) {
	for _, r := range []label.Requirements{require(t, team, label.Exists), require(t, team, label.In, "red", "blue")} {
		w := newWorld(t).leaving(r)
		w.pods("red", 20, 1800, asks(require(t, team, label.In, "red")))
		w.pods("blue", 20, 100, asks(require(t, team, label.In, "blue")), func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = 7 << 30 })
		out := w.step()
		checkSound(t, w.objects, out)
		if c := out.Plan.Proofs[0]; c.Bound < out.Plan.Cost*9/10 {
			t.Errorf("%s: costs %d, at least %d", r, out.Plan.Cost, c.Bound)
		}
	}
}

// A DaemonSet of one team is on the nodes of that team alone.
func TestStep_ADaemonSetThatSelectsAnOpenValueTakesRoomOfItsNodesOnly(t *testing.T) {
	w := newWorld(t).leaving(require(t, team, label.Exists))
	w.objects.DaemonSets = []cluster.DaemonSet{daemonSet("agent", 1500, label.Is(team, "red"))}
	for _, value := range []string{"red", "blue"} {
		w.pods(value, 1, 1500, asks(require(t, team, label.In, value)))
	}
	out := w.step()
	checkSound(t, w.objects, out)
	for value, small := range map[string]bool{"red": false, "blue": true} {
		l, found, why := nodeFor(out, value+"-00")
		if types := typed([]plan.Launch{l}); !found || slices.Contains(types, "c5.large") != small {
			t.Errorf("%s: types %v: %s", value, types, why)
		}
	}
}

func TestStep_RulesBetweenPodsOverAnOpenLabelUseTheValuesThatPodsAskFor(t *testing.T) {
	either := asks(require(t, team, label.In, "red", "blue"))
	for name, c := range map[string]struct {
		add    func(w *world)
		values int
	}{
		"apart": {func(w *world) {
			w.pods("web", 2, 500, either, func(p *cluster.Pod) {
				p.Labels, p.Shape.PodAntiAffinity = label.FromMap(map[string]string{"app": "x"}), []cluster.PodTerm{term(team, 0, "x")}
			})
		}, 2},
		"spread": {func(w *world) {
			w.pods("web", 2, 500, either, func(p *cluster.Pod) {
				p.Labels, p.Shape.Spread = label.FromMap(map[string]string{"app": "x"}), []cluster.Spread{{Key: team, MaxSkew: 1, Selector: pods("x")}}
			})
		}, 2},
		"together": {func(w *world) {
			w.pods("free", 1, 900, together(team)).pods("tied", 1, 400, together(team), asks(require(t, team, label.In, "blue")))
		}, 1},
	} {
		w := newWorld(t).leaving(require(t, team, label.Exists))
		c.add(w)
		out := w.step()
		checkSound(t, w.objects, out)
		values := map[string]bool{}
		for _, l := range of[plan.Launch](out) {
			values[l.Labels.Map()[team]] = true
		}
		if launchedFor(out) != 2 || len(values) != c.values || !values["blue"] {
			t.Errorf("%s: nodes for %d of 2 pods, with the values %v", name, launchedFor(out), values)
		}
	}
}

// A label value begins with a letter or a digit, so no node can have the label tier=-1.
func TestStep_NoNodeHasALabelBelowZero(t *testing.T) {
	w := newWorld(t).leaving(require(t, "tier", label.NotIn, "0")).pods("below", 1, 200, asks(require(t, "tier", label.Lt, "0")))
	w.pods("least", 1, 200, asks(require(t, "tier", label.Lt, "1")))
	out := w.step()
	for _, pod := range []string{"below-00", "least-00"} {
		if l, found, why := nodeFor(out, pod); found {
			t.Errorf("%s gets a node with %v", pod, l.Labels)
		} else {
			t.Log(why)
		}
	}
}
