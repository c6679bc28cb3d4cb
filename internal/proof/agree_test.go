package proof_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// worlds draws clusters with everything that the checker looks at.
type worlds struct{ t *rapid.T }

func (w worlds) number(name string, low, high int) int {
	return rapid.IntRange(low, high).Draw(w.t, name)
}

func (w worlds) often(name string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(w.t, name) < percent
}

func (w worlds) pick(name string, values ...string) string {
	return rapid.SampledFrom(values).Draw(w.t, name)
}

func (w worlds) objects() cluster.Objects {
	var o cluster.Objects
	for i := range w.number("pools", 1, 2) {
		o.Classes = append(o.Classes, cluster.Class{Name: fmt.Sprint("class", i), Ready: true, Types: w.types()})
		o.Pools = append(o.Pools, w.pool(i))
	}
	for i := range w.number("daemonsets", 0, 2) {
		s := w.shape(int64(w.number("daemon cpu", 100, 600)), 1)
		s.Volumes, s.Spread, s.PodAntiAffinity, s.Ports = nil, nil, nil, nil
		o.DaemonSets = append(o.DaemonSets, cluster.DaemonSet{Namespace: "kube-system", Name: fmt.Sprint("agent", i), Shape: s})
	}
	w.existing(&o)
	for i := range w.number("groups", 1, 4) {
		app := fmt.Sprint("app", i)
		shape := w.shape(int64(w.number("cpu", 1, 30))*100, int64(w.number("memory", 1, 30)))
		rule, least := "", int64(w.number("zones at least", 0, 2))
		if w.often("ruled", 50) {
			rule = w.pick("its rule", alone, even, inseparable)
		}
		for j := range w.number("replicas", 1, 6) {
			p := cluster.Pod{Namespace: "default", Name: fmt.Sprint(app, "-", j), Labels: label.FromMap(map[string]string{"app": app}), Shape: shape, Unschedulable: true}
			byRule(rule, app, &p)
			if rule == even && least > 1 {
				p.Shape.Spread[len(p.Shape.Spread)-1].MinDomains = least
			}
			if len(o.Nodes) > 0 && w.often("bound", 15) {
				p.Node = o.Nodes[0].Name
			} else if len(o.Nodes) > 0 && w.often("nominated by others", 10) {
				p.Nominated = o.Nodes[0].Name
			}
			o.Pods = append(o.Pods, p)
		}
	}
	return o
}

func (w worlds) types() []catalog.InstanceType {
	var out []catalog.InstanceType
	for i := range w.number("types", 1, 3) {
		x := instanceType(fmt.Sprint("t", i), int64(w.number("type cpu", 2, 8)), int64(w.number("type gib", 4, 16)))
		x.Labels = x.Labels.With(label.Arch, w.pick("arch", "amd64", "arm64"))
		if w.often("disk", 30) {
			x.Labels = x.Labels.With("karpenter.k8s.aws/instance-local-nvme", "100")
		}
		for _, zone := range []string{"a", "b"} {
			if w.often("for sale", 80) {
				x.Offerings = append(x.Offerings, onDemand(zone, quantity.Money(w.number("price", 100, 900))*1_000_000))
			}
			if w.often("reserved", 15) {
				r := reserved(zone, int64(w.number("left", 0, 2)))
				r.Reservation = x.Name + zone
				x.Offerings = append(x.Offerings, r)
			}
		}
		out = append(out, x)
	}
	return out
}

func (w worlds) pool(i int) cluster.Pool {
	p := cluster.Pool{Name: fmt.Sprint("pool", i), UID: fmt.Sprint(i), Class: fmt.Sprint("class", i), Ready: true, Weight: int32(w.number("weight", 0, 1))}
	if w.often("pool taint", 30) {
		p.Taints = []cluster.Taint{{Key: "t", Effect: cluster.NoSchedule}}
	}
	if w.often("pool zone", 20) {
		p.Requirements = p.Requirements.And(label.All(label.Is(label.Zone, "a")))
	}
	if w.often("pool team", 20) {
		p.Labels = label.FromMap(map[string]string{"team": w.pick("team", "x", "y")})
	}
	return p
}

// existing adds nodes of ours or of others, or NodeClaims on their way.
func (w worlds) existing(o *cluster.Objects) {
	for i := range w.number("existing", 0, 2) {
		w.host(o, fmt.Sprint(i))
	}
}

// host adds a node of ours or of others, or a NodeClaim on its way.
func (w worlds) host(o *cluster.Objects, id string) {
	class, pool := o.Classes[0], o.Pools[0]
	t := class.Types[0]
	labels := pool.Labels.Merge(t.Labels).With(label.NodePool, pool.Name).With(label.NodeClass, class.Name).With(label.Zone, "a").With(label.CapacityType, label.OnDemand)
	claim := cluster.Claim{Name: "c" + id, Pool: pool.Name, Class: class.Name, Labels: pool.Labels, Taints: pool.Taints, Deleting: w.often("deleting", 5)}
	stage := w.pick("stage", "ordered", "launched", "starting", "up", "foreign")
	if stage != "ordered" {
		claim.Launched, claim.InstanceType, claim.Zone, claim.CapacityType, claim.Labels, claim.Allocatable = true, t.Name, "a", label.OnDemand, labels, t.Allocatable
	}
	if w.often("startup taint", 30) {
		claim.StartupTaints = []cluster.Taint{{Key: "starting", Effect: cluster.NoSchedule}}
	}
	if w.often("interrupted", 5) {
		now := time.Unix(1e9, 0)
		claim.Interruption = &cluster.Interruption{Reason: "x", Noticed: now, Deadline: now.Add(2 * time.Minute)}
	}
	up := stage == "starting" || stage == "up"
	if up {
		claim.Node, claim.Registered, claim.Initialized = "n"+id, stage == "up" || w.often("registered", 80), stage == "up"
	}
	if stage != "foreign" {
		o.Claims = append(o.Claims, claim)
	}
	if up || stage == "foreign" {
		n := cluster.Node{
			Name: "n" + id, Labels: labels, Taints: pool.Taints, Allocatable: t.Allocatable,
			Ready: w.often("ready", 80), Cordoned: w.often("cordoned", 10), Deleting: w.often("node deleting", 5), Disrupted: w.often("disrupted", 5),
		}
		if stage != "foreign" {
			n.Claim = claim.Name
		}
		if stage == "starting" && w.often("not reported", 20) {
			n.Allocatable = quantity.Resources{}
		}
		if taint := w.taint(stage == "starting"); taint != (cluster.Taint{}) {
			n.Taints = append([]cluster.Taint{taint}, n.Taints...)
		}
		o.Nodes = append(o.Nodes, n)
	}
}

// taint is one more of a node, or none.
func (w worlds) taint(starting bool) cluster.Taint {
	if !starting && !w.often("tainted", 20) {
		return cluster.Taint{}
	}
	switch key := w.pick("taint", "starting", "starting", "agent", engine.DefaultPolicy().StartupTaint.Key, "node.kubernetes.io/not-ready", "karpenter.sh/unregistered", "preferred", "none"); key {
	case "none":
		return cluster.Taint{}
	case "preferred":
		return cluster.Taint{Key: key, Effect: cluster.PreferNoSchedule}
	case "karpenter.sh/unregistered":
		return cluster.Taint{Key: key, Effect: cluster.NoExecute}
	default:
		return cluster.Taint{Key: key, Effect: cluster.NoSchedule}
	}
}

func (w worlds) shape(milliCPU, tenthsOfGib int64) cluster.Shape {
	s := cluster.Shape{Requests: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: tenthsOfGib * (1 << 30) / 10, PodSlots: 1}}
	is := func(key string, values ...string) label.Requirements {
		return label.All(label.Is(key, w.pick(key, values...)))
	}
	if w.often("tolerates", 50) {
		s.Tolerations = []cluster.Toleration{{Key: "t", Exists: true}}
	}
	switch w.pick("rule", "none", "none", "zone", "arch", "team", "any", "volume", "attach", "spread", "apart", "apart", "port", "port") {
	case "zone":
		s.Selector = is(label.Zone, "a", "b")
	case "arch":
		s.Selector = is(label.Arch, "amd64", "arm64")
	case "team":
		s.Selector = is("team", "x", "y")
	case "any":
		s.NodeAffinity = []label.Requirements{is(label.Zone, "a", "b"), is(label.Arch, "amd64", "arm64")}
	case "volume":
		s.Volumes = [][]label.Requirements{{is(label.Zone, "a", "b")}}
	case "attach":
		s.Requests = s.Requests.Extend(cluster.AttachSlots("ebs"), 1)
	case "spread":
		s.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1}}
	case "port":
		s.Ports = []cluster.HostPort{{IP: w.pick("address", "0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: 80}}
	case "apart":
		s.PodAntiAffinity = []cluster.PodTerm{{Key: label.Hostname, Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true}}}
	}
	return s
}

// placed is the demand that the plan finds room for.
func placed(s cluster.Snapshot, p plan.Plan) []plan.DemandPrice {
	var out []plan.DemandPrice
	for g := range s.Groups() {
		d := plan.DemandPrice{Group: g.Key}
		for _, o := range p.Outcomes {
			if o.Group == g.Key && (o.Verdict == plan.OnNode || o.Verdict == plan.OnClaim || o.Verdict == plan.OnLaunch) {
				d.Count += int64(len(o.Pods))
			}
		}
		if d.Count > 0 {
			out = append(out, d)
		}
	}
	return out
}

// The checker and the engine have only the rules in common. If either had a rule
// wrong, the engine would find a plan that is cheaper than a bound that the
// checker accepts, or room where the checker sees none.
func TestProven_NeverExceedsWhatTheEnginePays(t *testing.T) {
	plans, positive := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o := worlds{t}.objects()
		snap, err := cluster.New(o)
		if err != nil {
			t.Fatal(err)
		}
		out := engine.Step(engine.Input{Snapshot: snap, Policy: engine.DefaultPolicy(), Now: time.Unix(1e9, 0), Seed: 1})
		demand := placed(snap, out.Plan)
		if len(demand) == 0 {
			return
		}
		key := func(namespace string, l label.Labels, s cluster.Shape) string {
			return snap.GroupFor(namespace, l, s).Key
		}
		w := small{objects: o, demand: demand, apart: map[string]bool{}}
		byPort := rapid.Bool().Draw(t, "by port") // else by the term, the same for all
		for g := range snap.Groups() {
			if byPort {
				w.apart[g.Key] = len(g.Shape.Ports) > 0 && g.Shape.Ports[0].IP == "0.0.0.0"
			} else {
				w.apart[g.Key] = len(g.Shape.PodAntiAffinity) > 0
			}
		}
		w.zonal = oneZonal(snap)
		for i, d := range w.demand {
			w.demand[i].Together = inOne(snap, d)
		}
		var bound quantity.Money
		for range 3 {
			_, guessed, err := guess(t, w, key)
			if err != nil {
				t.Fatalf("the checker refuses prices low enough for %+v: %v", demand, err)
			}
			bound = max(bound, guessed)
		}
		if out.Plan.Cost > 0 {
			plans++
		}
		if bound > 0 {
			positive++
		}
		if bound > out.Plan.Cost {
			t.Fatalf("bound %d, and the engine pays %d: %+v", bound, out.Plan.Cost, out.Plan)
		}
	})
	if positive*4 < plans || plans == 0 {
		t.Errorf("of %[2]d plans that cost something %[1]d have a bound", positive, plans)
	}
}

// oneZonal picks one group with a rule over zones.
func oneZonal(s cluster.Snapshot) map[string]bool {
	for g := range s.Groups() {
		if slices.ContainsFunc(g.Shape.PodAntiAffinity, func(x cluster.PodTerm) bool { return x.Key == label.Zone }) ||
			slices.ContainsFunc(g.Shape.Spread, func(x cluster.Spread) bool { return len(x.Selector.Match) > 0 }) {
			return map[string]bool{g.Key: true}
		}
	}
	return nil
}

// inOne says whether the demand is all pods of a group that must be on one node.
func inOne(s cluster.Snapshot, d plan.DemandPrice) bool {
	for g := range s.Groups() {
		if g.Key == d.Group {
			return len(g.Shape.PodAffinity) > 0 && g.Size() == d.Count
		}
	}
	return false
}
