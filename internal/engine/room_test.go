package engine_test

import (
	"testing"

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
