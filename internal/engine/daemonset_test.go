package engine_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// daemonSet runs a pod of milliCPU on each node that it may run on.
func daemonSet(name string, milliCPU int64, on ...label.Requirement) cluster.DaemonSet {
	return cluster.DaemonSet{UID: "uid-" + name, Namespace: "kube-system", Name: name, Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: milliCPU, PodSlots: 1}, Selector: label.All(on...), Tolerations: []cluster.Toleration{{Exists: true}},
	}}
}

// runs puts the DaemonSet's pod with this request on the node.
func (w *world) runs(d cluster.DaemonSet, node string, milliCPU int64) *world {
	return w.pods(d.Name+"-"+node, 1, milliCPU, func(p *cluster.Pod) {
		p.Namespace, p.Node, p.Pinned, p.Unschedulable = d.Namespace, node, true, false
		p.Owner = cluster.Owner{Kind: "DaemonSet", Name: d.Name, UID: d.UID}
	})
}

// The daemon labels a node when it has joined and when it can take pods. Many DaemonSets
// select by these labels, so that their pods do not come too early.
func TestStep_ANodeToComeHasTheLabelsThatItGetsOnItsWay(t *testing.T) {
	for _, key := range []string{label.Registered, label.Initialized} {
		asks := func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(key, "true")) }
		w := newWorld(t).pods("web", 1, 1000, asks)
		w.objects.DaemonSets = []cluster.DaemonSet{daemonSet("agent", 500, label.Is(key, "true"))}
		launches := of[plan.Launch](w.step())
		if len(launches) != 1 {
			t.Fatalf("%s: %d launches for a pod that selects it", key, len(launches))
		}
		if _, there := launches[0].Labels.Get(key); there {
			t.Errorf("%s: the NodeClaim claims what its node has not done yet", key)
		}
		// Of 1900m, the pod and the DaemonSet leave 400.
		more := func(x *world, milliCPU int64) int {
			y := *x
			y.memory, y.objects.Pods = engine.Memory{}, slices.Clone(x.objects.Pods)
			return launchedFor(y.pods("more", 1, milliCPU, asks).step())
		}
		check := func(stage string) {
			t.Helper()
			if a, b := more(w, 400), more(w, 401); a != 0 || b != 1 {
				t.Errorf("%s: a node that is %s has no room for 400m, or for more: %d, %d", key, stage, a, b)
			}
		}
		w.order(launches)
		check("ordered")
		w.bringUp(launches)
		check("starting")
		w.objects.Nodes[0].Labels = w.objects.Nodes[0].Labels.With(label.Registered, "true")
		check("registered")
		w.objects.Nodes, w.objects.Claims[0].Node, w.objects.Claims[0].Registered = nil, "", false
		check("launched")
	}
}

// What must not run on registered nodes waits for no node: none would be without the label
// for long.
func TestStep_NothingIsLaunchedForPodsThatAvoidTheLabelsOfNodes(t *testing.T) {
	no := require(t, label.Registered, label.DoesNotExist)
	w := newWorld(t).pods("web", 1, 500, func(p *cluster.Pod) { p.Shape.NodeAffinity = []label.Requirements{no} })
	if out := w.step(); len(of[plan.Launch](out)) != 0 {
		t.Errorf("launched %v", of[plan.Launch](out))
	}
}

// A DaemonSet's pod that requests more than the DaemonSet says by now, as one that was
// resized in place, takes nothing of the room that another DaemonSet's pod will need.
func TestStep_AGrownDaemonSetPodHidesNoOtherThatIsToCome(t *testing.T) {
	grown, late := daemonSet("grown", 100), daemonSet("late", 500)
	w := newWorld(t).pods("web", 1, 800)
	w.objects.DaemonSets = []cluster.DaemonSet{grown, late}
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches).open(w.step().Plan.Actions)
	node := w.objects.Nodes[0].Name
	w.bind("default/web-00", node)
	w.runs(grown, node, 300)
	// Of 1900m, 800 and 300 are used, and 500 are to come.
	for milliCPU, want := range map[int64]int{300: 0, 301: 1} {
		y := *w
		y.memory, y.objects.Pods = engine.Memory{}, slices.Clone(w.objects.Pods)
		if got := launchedFor(y.pods("more", 1, milliCPU).step()); got != want {
			t.Errorf("launched for %d pods of %dm, want %d", got, milliCPU, want)
		}
	}
	// A pod that is smaller than its DaemonSet says is replaced by one that is not.
	w.runs(late, node, 400)
	for milliCPU, want := range map[int64]int{300: 0, 301: 1} {
		y := *w
		y.memory, y.objects.Pods = engine.Memory{}, slices.Clone(w.objects.Pods)
		if got := launchedFor(y.pods("more", 1, milliCPU).step()); got != want {
			t.Errorf("beside the smaller one: launched for %d pods of %dm, want %d", got, milliCPU, want)
		}
	}
}

// Nobody knows the name of a node before it joins. It has one, and none of those that pods name.
func TestStep_ANodeToComeHasANameThatNoPodKnows(t *testing.T) {
	for name, c := range map[string]struct {
		asks label.Requirements
		want int
	}{
		"any name":        {require(t, label.Hostname, label.Exists), 1},
		"no name":         {require(t, label.Hostname, label.DoesNotExist), 0},
		"a name":          {require(t, label.Hostname, label.In, "ip-10-0-0-1"), 0},
		"another name":    {require(t, label.Hostname, label.NotIn, "ip-10-0-0-1"), 1},
		"a large number":  {require(t, label.Hostname, label.Gt, "7"), 0},
		"no large number": {require(t, label.Hostname, label.Lt, "7"), 0},
	} {
		w := newWorld(t).pods("web", 1, 1500, asks(c.asks))
		w.objects.DaemonSets = []cluster.DaemonSet{daemonSet("agent", 1000)}
		w.objects.DaemonSets[0].Shape.NodeAffinity = []label.Requirements{c.asks}
		if got := launchedFor(w.step()); got != c.want {
			t.Errorf("%s: launched for %d pods, want %d", name, got, c.want)
		}
		w.objects.Pods = nil
		l := of[plan.Launch](w.pods("other", 1, 1500).step())
		if small := len(l) == 1 && slices.Contains(typed(l), "c5.large"); small == (c.want == 1) {
			t.Errorf("%s: a node of %v for the pod and the DaemonSet", name, typed(l))
		}
	}
}
