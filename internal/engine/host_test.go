package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The scheduler refuses a pod the host port of a DaemonSet, whose pod comes with the
// node.
func TestStep_AHostPortIsTakenByADaemonSetThatIsStillToCome(t *testing.T) {
	port := []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 9100}}
	for _, stage := range []string{"ordered", "launched", "starting", "kept", "open"} {
		w := newWorld(t).pods("web", 1, 500)
		w.objects.DaemonSets = []cluster.DaemonSet{{UID: "d", Namespace: "kube-system", Name: "exporter", Shape: cluster.Shape{
			Requests: quantity.Resources{MilliCPU: 100, PodSlots: 1}, Ports: port,
		}}}
		launches := of[plan.Launch](w.step())
		w.order(launches)
		if stage != "ordered" {
			w.bringUp(launches)
		}
		switch stage {
		case "launched":
			w.objects.Claims[0].Registered, w.objects.Claims[0].Node, w.objects.Nodes = false, "", nil
		case "starting":
			w.objects.Nodes[0].Ready = false
		case "open":
			w.open(w.step().Plan.Actions)
		}
		w.pods("other-exporter", 1, 500, func(p *cluster.Pod) { p.Shape.Ports = port })
		for _, o := range w.step().Plan.Outcomes {
			if o.Pods[0] == "default/other-exporter-00" && o.Verdict != plan.Unplaceable {
				t.Errorf("%s: %+v, want no place", stage, o)
			}
		}
	}
}

// Whatever was nominated, however old NodeClaims are, and whatever ports DaemonSets
// take: the certificate is proven from the raw objects, no node is removed that gets a
// pod in the same plan, and no pod is placed where its port is taken.
func TestStep_IsSoundOnNodesOfEveryAgeAndState(t *testing.T) {
	proofs := 0
	rapid.Check(t, func(rt *rapid.T) {
		d, w := draw{rt}, newWorld(t)
		w.objects.Pools[0].Disruption.After = 0
		w.pods("first", d.number("first", 1, 4), int64(d.number("cpu of the first", 5, 38))*100)
		launches := of[plan.Launch](w.step())
		w.order(launches).bringUp(launches)
		if d.one("open", 2) {
			w.open(w.step().Plan.Actions)
		}
		for i := range d.number("daemonsets", 0, 2) {
			p := cluster.Pod{Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: int64(d.number("daemon", 0, 3)) * 100, PodSlots: 1}}}
			d.port(&p)
			name := fmt.Sprint("agent-", i)
			w.objects.DaemonSets = append(w.objects.DaemonSets, cluster.DaemonSet{UID: name, Namespace: "kube-system", Name: name, Shape: p.Shape})
		}
		w.now = w.now.Add(d.minutes("age", 40))
		d.age(w)
		// Some pods are deleted, as the victims of a preemption.
		w.objects.Pods = slices.DeleteFunc(w.objects.Pods, func(p cluster.Pod) bool { return p.Node != "" && d.one("gone", 2) })
		for i := range d.number("groups", 1, 3) {
			w.pods(fmt.Sprint("late-", i), d.number("pods", 1, 3), int64(d.number("cpu", 1, 38))*100, d.port, func(p *cluster.Pod) {
				if n := d.number("nominated", 0, 3*len(w.objects.Nodes)); n < len(w.objects.Nodes) {
					p.Nominated, p.NominatedByUs = w.objects.Nodes[n].Name, d.one("by us", 4)
				}
			})
		}
		for range 2 { // an empty node is removed once it was seen to be empty
			out := w.step()
			proofs += len(out.Plan.Proofs)
			checkSound(rt, w.objects, out)
			checkDrains(rt, w, out)
		}
	})
	if proofs == 0 {
		t.Error("no plan has a certificate")
	}
}

// draw draws what hosts can be like.
type draw struct{ *rapid.T }

func (d draw) number(name string, low, high int) int {
	return rapid.IntRange(low, high).Draw(d.T, name)
}

func (d draw) one(name string, in int) bool { return d.number(name, 1, in) == in }

func (d draw) minutes(name string, most int) time.Duration {
	return time.Duration(d.number(name, 0, most)) * time.Minute
}

func (d draw) port(p *cluster.Pod) {
	if d.one("with a port", 3) {
		p.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: int32(d.number("port", 80, 81))}}
	}
}

// age gives the NodeClaims any age, and their nodes any state. Some have no node.
func (d draw) age(w *world) {
	for i := range w.objects.Nodes {
		n, c := &w.objects.Nodes[i], &w.objects.Claims[i]
		c.Created = w.now.Add(-d.minutes("age", 40))
		switch n.Ready = !d.one("not ready", 4); d.number("state", 0, 9) {
		case 0:
			n.Taints = append(n.Taints, cluster.Taint{Key: "agent", Effect: cluster.NoSchedule})
		case 1:
			n.Cordoned = true
		case 2:
			c.Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(d.minutes("notice", 2))}
		case 3:
			c.Registered, c.Initialized = false, false
		case 4, 5:
			if !c.Initialized {
				c.Registered, c.Node, c.Launched = false, "", d.one("launched", 2)
			}
		}
	}
	w.objects.Nodes = slices.DeleteFunc(w.objects.Nodes, func(n cluster.Node) bool {
		return slices.ContainsFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Name == n.Claim && c.Node == "" })
	})
}
