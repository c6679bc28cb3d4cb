package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// undeclared are taints of user data, of webhooks and of agents, which no NodePool knows.
func undeclared() map[string]cluster.Taint {
	return map[string]cluster.Taint{
		"of user data": {Key: "example.com/hardened", Value: "true", Effect: cluster.NoSchedule},
		"of an agent":  {Key: "node.cilium.io/agent-not-ready", Effect: cluster.NoExecute},
		"of a kubelet": {Key: "node.kubernetes.io/memory-pressure", Effect: cluster.NoSchedule},
	}
}

// tainted has a node for the pods that just came up, with further taints.
func tainted(w *world, taints ...cluster.Taint) *world {
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) { n.Taints = append(n.Taints, taints...) })
	return w
}

func tolerates(list ...cluster.Toleration) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Tolerations = list }
}

func TestStep_ANodeOpensForPodsThatTolerateATaintThatNobodyDeclared(t *testing.T) {
	for name, taint := range undeclared() {
		for how, toleration := range map[string]cluster.Toleration{
			"everything": {Exists: true},
			"the key":    {Key: taint.Key, Exists: true},
			"the taint":  {Key: taint.Key, Value: taint.Value, Effect: taint.Effect},
		} {
			w := tainted(newWorld(t).pods("web", 2, 900, tolerates(toleration)), taint)
			out := w.step()
			checkSound(t, w.objects, out)
			if len(of[plan.Release](out)) != 1 || len(of[plan.Nominate](out)) != 2 {
				t.Errorf("%s, tolerated as %s: %+v", name, how, out.Plan.Actions)
			}
			w.open(out.Plan.Actions)
			if launches, deletes := w.idle(time.Hour); len(launches)+len(deletes) > 0 {
				t.Errorf("%s, tolerated as %s: then launched %+v, deleted %+v", name, how, launches, deletes)
			}
		}
	}
}

func TestStep_ANodeOpensForThePodsThatTolerateItsTaintAndOthersGetAnotherNode(t *testing.T) {
	taint := undeclared()["of user data"]
	w := tainted(newWorld(t).pods("web", 1, 900).pods("agent", 1, 900, tolerates(cluster.Toleration{Exists: true})), taint)
	out := w.step()
	checkSound(t, w.objects, out)
	if n, l := of[plan.Nominate](out), of[plan.Launch](out); len(n) != 1 || n[0].Pod != "default/agent-00" || len(l) != 1 || len(l[0].Pods) != 1 {
		t.Errorf("%+v", out.Plan.Actions)
	}
}

func TestStep_PodsWaitForAnAgentThatTakesItsTaintOff(t *testing.T) {
	taint := undeclared()["of an agent"]
	w := tainted(newWorld(t).pods("web", 2, 900), taint)
	if launches, deletes := w.idle(5 * time.Minute); len(launches)+len(deletes) > 0 || w.objects.Claims[0].Initialized {
		t.Errorf("while the agent starts: launched %+v, deleted %+v, open: %v", launches, deletes, w.objects.Claims[0].Initialized)
	}
	w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) { n.Taints = []cluster.Taint{kept} })
	if out := w.step(); len(of[plan.Release](out)) != 1 || len(of[plan.Nominate](out)) != 2 {
		t.Errorf("when the taint is gone: %+v", out.Plan.Actions)
	}
}

// The device plugin tolerates every taint, and its node is ready as soon as the kubelet is. If
// the node opened for the plugin alone, it would be up with a taint that keeps its pods off.
func TestStep_ANodeOpensForItsDevicesOnlyIfItsPodsTolerateATaintThatNobodyDeclared(t *testing.T) {
	taint := undeclared()["of an agent"]
	for name, c := range map[string]struct {
		tolerations []cluster.Toleration
		opens       int
	}{
		"they wait for the agent":  {nil, 0},
		"they tolerate the taint":  {[]cluster.Toleration{{Key: taint.Key, Exists: true}}, 1},
		"they tolerate everything": {[]cluster.Toleration{{Exists: true}}, 1},
	} {
		w := newWorld(t)
		for i := range w.objects.Classes[0].Types {
			w.objects.Classes[0].Types[i] = withGPUs(w.objects.Classes[0].Types[i], 1)
		}
		tainted(w.pods("gpu", 1, 900, askGPUs(1), tolerates(c.tolerations...)), taint)
		whole := w.objects.Nodes[0].Allocatable
		w.objects.Nodes[0].Allocatable.Extended = nil
		out := w.step()
		if n := len(of[plan.Release](out)); n != c.opens {
			t.Errorf("%s: %d nodes open for their devices, want %d", name, n, c.opens)
		}
		w.open(out.Plan.Actions)
		w.objects.Nodes[0].Allocatable = whole
		out = w.step()
		if again := of[plan.Launch](out); len(again) > 0 {
			t.Errorf("%s: with devices, launched %+v", name, again)
		}
		w.open(out.Plan.Actions)
		w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) {
			n.Taints = slices.DeleteFunc(n.Taints, func(x cluster.Taint) bool { return x == taint })
		})
		if launches, deletes := w.idle(time.Minute); len(launches)+len(deletes) > 0 || w.objects.Pods[0].Node == "" {
			t.Errorf("%s: when the taint is gone, launched %+v, deleted %+v, the pod is on %q", name, launches, deletes, w.objects.Pods[0].Node)
		}
	}
}

func TestStep_ANodeOfAStaticPoolOpensWithATaintThatNobodyDeclared(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Static, w.objects.Pools[0].Replicas = true, 1
	tainted(w, undeclared()["of user data"])
	launches, deletes := w.idle(2 * time.Hour)
	if len(launches)+len(deletes) > 0 || !w.objects.Claims[0].Initialized {
		t.Errorf("launched %+v, deleted %+v, open: %v", launches, deletes, w.objects.Claims[0].Initialized)
	}
}

// Pods may tolerate what is removed by itself or what the pool says somebody takes off:
// the node is not theirs before.
func TestStep_ANodeWaitsForItsStartupTaintsAndForThoseThatGoByThemselvesWhateverPodsTolerate(t *testing.T) {
	for name, taint := range map[string]cluster.Taint{
		"not ready":                {Key: "node.kubernetes.io/not-ready", Effect: cluster.NoExecute},
		"unreachable":              {Key: "node.kubernetes.io/unreachable", Effect: cluster.NoSchedule},
		"without its cloud's data": {Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: cluster.NoSchedule},
		"a readiness gate":         {Key: "readiness.k8s.io/network", Effect: cluster.NoSchedule},
		"unregistered":             {Key: "karpenter.sh/unregistered", Effect: cluster.NoExecute},
		"a startup taint":          {Key: "agent", Value: "starting", Effect: cluster.NoSchedule},
		"with another value":       {Key: "agent", Value: "half-way", Effect: cluster.NoSchedule},
	} {
		w := newWorld(t).pods("web", 2, 900, tolerates(cluster.Toleration{Exists: true}))
		w.objects.Pools[0].StartupTaints = []cluster.Taint{{Key: "agent", Value: "starting", Effect: cluster.NoSchedule}}
		tainted(w, taint)
		w.objects.Claims[0].StartupTaints = append([]cluster.Taint{kept}, w.objects.Pools[0].StartupTaints...)
		if out := w.step(); len(of[plan.Launch](out))+len(of[plan.Release](out))+len(of[plan.Nominate](out)) > 0 {
			t.Errorf("%s: %+v", name, out.Plan.Actions)
		}
	}
}

// A node that starts without the daemon's taint, such as one that Karpenter has launched,
// waits for nobody's pods: nothing says that its taints will be removed before pods come.
func TestStep_ATaintThatNobodyDeclaredKeepsPodsOffAStartingNodeOnWhichNothingIsPlanned(t *testing.T) {
	for name, taint := range undeclared() {
		for what, c := range map[string]struct {
			change     func(*cluster.Node, *cluster.Claim)
			toleration []cluster.Toleration
			launches   int
		}{
			"is up":                    {func(*cluster.Node, *cluster.Claim) {}, nil, 1},
			"is up, and pods tolerate": {func(*cluster.Node, *cluster.Claim) {}, []cluster.Toleration{{Exists: true}}, 0},
			"is not ready yet":         {func(n *cluster.Node, _ *cluster.Claim) { n.Ready = false }, nil, 0},
			"has not registered":       {func(_ *cluster.Node, c *cluster.Claim) { c.Registered = false }, nil, 0},
			"waits for its devices":    {func(_ *cluster.Node, c *cluster.Claim) { c.Requests = c.Requests.Extend("example.com/device", 1) }, nil, 1},
			"has a startup taint, too": {func(n *cluster.Node, _ *cluster.Claim) {
				n.Taints = append(n.Taints, cluster.Taint{Key: "node.kubernetes.io/not-ready", Effect: cluster.NoExecute})
			}, nil, 0},
			"is for pods that are no more": {func(_ *cluster.Node, c *cluster.Claim) { c.Planned = []cluster.Slot{{Kind: "gone", Count: 1}} }, nil, 1},
		} {
			w := tainted(newWorld(t).pods("first", 1, 900), taint)
			node, claim := &w.objects.Nodes[0], &w.objects.Claims[0]
			node.Taints, claim.StartupTaints, claim.Planned = []cluster.Taint{taint}, nil, nil
			c.change(node, claim)
			w.objects.Pods, w.memory = nil, engine.Memory{}
			out := w.pods("web", 1, 900, tolerates(c.toleration...)).step()
			checkSound(t, w.objects, out)
			if n := len(of[plan.Launch](out)); n != c.launches {
				t.Errorf("the node with the taint %s %s: %d launches, want %d: %+v", name, what, n, c.launches, out.Plan.Outcomes)
			}
		}
	}
}
