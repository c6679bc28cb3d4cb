package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestStep_SaysWhyAPodCannotBePlaced(t *testing.T) {
	unmet, err := label.NewRequirement(label.Arch, label.In, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		pod  func(*cluster.Pod)
		pool func(*cluster.Pool)
		want string
	}{
		{"taint", nil, func(p *cluster.Pool) {
			p.Taints = []cluster.Taint{{Key: "spot", Value: "only", Effect: cluster.NoSchedule}}
		}, `NodePool "general": the pod does not tolerate a taint (spot=only:NoSchedule)`},
		{
			"size", func(p *cluster.Pod) { p.Shape.Requests.MilliCPU = 64_000 }, nil,
			`NodePool "general": no instance type is large enough: c5.xlarge comes closest of 3 and lacks cpu (64 needed, 3.9 left after DaemonSets)`,
		},
		{
			"architecture", func(p *cluster.Pod) { p.Shape.Selector = label.All(unmet) }, nil,
			`NodePool "general": none of 3 instance types meets kubernetes.io/arch In [arm64]; known values: amd64`,
		},
		{
			"contradiction", func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.CapacityType, label.Spot)) }, nil,
			`NodePool "general": the requirements contradict (the pool has karpenter.sh/capacity-type In [on-demand reserved], the pod asks for karpenter.sh/capacity-type In [spot])`,
		},
		{
			"limit", nil, func(p *cluster.Pool) { p.Limits = []quantity.Amount{{Name: "nodes", Count: 0}} },
			`NodePool "general": the limit is 0 nodes, and the pool has 0 with the launches of this plan`,
		},
		{
			"not ready", nil, func(p *cluster.Pool) { p.Ready, p.NotReady = false, "NodeClassReady is False" },
			`NodePool "general": the pool is not ready (NodeClassReady is False)`,
		},
		{
			"unsupported", func(p *cluster.Pod) { p.Shape.Unsupported = []string{"topologySpreadConstraints"} }, nil,
			`the pod has a constraint that is not carried out, or needs an object that is missing (topologySpreadConstraints)`,
		},
		{
			"two sizes", func(p *cluster.Pod) { p.Shape.Requests.MilliCPU, p.Shape.Requests.MemoryBytes = 3000, 20<<30 }, nil,
			`NodePool "general": no instance type is large enough: m5.xlarge comes closest of 3 and lacks memory (20Gi needed, 15.5Gi left after DaemonSets)`,
		},
		{
			"limit of cpu", nil, func(p *cluster.Pool) { p.Limits = []quantity.Amount{{Name: quantity.CPU, Count: 1000}} },
			`NodePool "general": the limit is 1 cpu, the pool has 0 with the launches of this plan, and the smallest node that holds the pod adds 2`,
		},
		{
			"slip", func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.InstanceType, "m5.xlrage")) }, nil,
			`NodePool "general": none of 3 instance types meets node.kubernetes.io/instance-type In [m5.xlrage]; ` +
				`known values: c5.large, c5.xlarge, m5.xlarge; did you mean "m5.xlarge"?`,
		},
		{
			"slip in a key", func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("kubernets.io/arch", "amd64")) }, nil,
			`NodePool "general": no node of the pool has the label "kubernets.io/arch"; did you mean "kubernetes.io/arch"?`,
		},
		{
			// Each is met by some type; the pod is not told that one of them is not.
			"never both", func(p *cluster.Pod) {
				p.Shape.Selector = label.All(label.Is(label.InstanceType, "c5.large"), label.Is("family", "m5"))
			}, func(p *cluster.Pool) { p.Labels = label.FromMap(map[string]string{"family": "c5"}) },
			`NodePool "general": none of 3 instance types meets family In [m5]; known values: c5`,
		},
		{
			"host", func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Hostname, "ip-10-0-0-1")) }, nil,
			`NodePool "general": the pod asks for a node by name (ip-10-0-0-1), and no new node has that name`,
		},
		{
			"volumes apart", func(p *cluster.Pod) {
				p.Shape.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, "a"))}, {label.All(label.Is(label.Zone, "b"))}}
			}, nil,
			`NodePool "general": no new node meets the node affinity of the pod's volumes (topology.kubernetes.io/zone In [b]; topology.kubernetes.io/zone In [a]); ` +
				`let the NodePool launch where the volumes are, or make volumes with the binding mode WaitForFirstConsumer`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.pod == nil {
				tc.pod = func(*cluster.Pod) {}
			}
			w.pods("web", 1, 1000, tc.pod)
			if tc.pool != nil {
				tc.pool(&w.objects.Pools[0])
			}
			out := w.step()
			if len(of[plan.Launch](out)) != 0 || len(out.Plan.Outcomes) != 1 {
				t.Fatalf("plan = %+v", out.Plan)
			}
			if got := out.Plan.Outcomes[0].Explain(); !strings.HasSuffix(got, tc.want) {
				t.Errorf("explained as %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStep_SaysWhichDaemonSetTakesTheHostPort(t *testing.T) {
	port := []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}
	w := newWorld(t).pods("web", 1, 1000, func(p *cluster.Pod) { p.Shape.Ports = port })
	w.objects.DaemonSets = []cluster.DaemonSet{{Namespace: "kube-system", Name: "ingress", UID: "d", Shape: cluster.Shape{Ports: port}}}
	want := `NodePool "general": its host ports are taken (80/TCP, by the DaemonSet kube-system/ingress)`
	if got := w.step().Plan.Outcomes[0].Explain(); !strings.HasSuffix(got, want) {
		t.Errorf("explained as %q, want %q", got, want)
	}
}

func TestStep_SaysThatAReservationIsFull(t *testing.T) {
	w := newWorld(t).pods("web", 2, 3000)
	(&scenario{world: w}).reserve("c5.xlarge", 1)
	w.objects.Pools[0].Requirements = label.All(label.Is(label.CapacityType, label.Reserved))
	out := w.step()
	want := `NodePool "general": the capacity ran out a moment ago (no room is left in the reservation cr-c5.xlarge), 1 instance type`
	for _, o := range out.Plan.Outcomes {
		if o.Verdict == plan.Unplaceable {
			if got := o.Explain(); !strings.HasSuffix(got, want) {
				t.Errorf("explained as %q, want %q", got, want)
			}
			return
		}
	}
	t.Errorf("two pods on one reserved instance: %+v", out.Plan.Outcomes)
}

func TestStep_SaysWhatTheNextCheaperTypeLacks(t *testing.T) {
	pod := func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = 10 << 30 }
	launches := of[plan.Launch](newWorld(t).pods("web", 1, 1000, pod).step())
	if len(launches) != 1 {
		t.Fatalf("launches = %+v", launches)
	}
	why := launches[0].Why
	if why.Passed != (plan.Choice{Type: "c5.xlarge", Price: 170_000_000}) || why.Lacks == nil ||
		*why.Lacks != (quantity.Shortage{Resource: quantity.Memory, Need: 10 << 30, Free: 15 << 29}) {
		t.Errorf("passed %+v, which lacks %+v; want c5.xlarge, which lacks memory", why.Passed, why.Lacks)
	}
}

func TestStep_SaysThatTheSchedulerPreemptsForAPod(t *testing.T) {
	w := newWorld(t).pods("a", 1, 1000).running()
	node := w.objects.Nodes[0].Name
	w.pods("preemptor", 1, 1500, func(p *cluster.Pod) { p.Nominated = node })
	out := w.step()
	want := "pod default/preemptor-00 is to run on node " + node + ", where the kube-scheduler preempts other pods for it"
	if len(out.Plan.Outcomes) != 1 || out.Plan.Outcomes[0].Verdict != plan.Preempting || out.Plan.Outcomes[0].Explain() != want {
		t.Errorf("outcomes = %+v, want %q", out.Plan.Outcomes, want)
	}
	w.objects.Pods[1].Unschedulable = false // the scheduler nominates what it is about to bind, too
	if got := w.step().Plan.Outcomes; len(got) != 1 || got[0].Verdict != plan.OnNode {
		t.Errorf("outcomes = %+v, want the pod on the node", got)
	}
}

// What keeps a pod from one domain is not always what keeps it from the next.
func TestStep_SaysWhatKeepsAPodFromEachDomain(t *testing.T) {
	for zones, want := range map[string]string{
		"a b": "anti-affinity over topology.kubernetes.io/zone: the pod must not join 1 pod in a (app In [web]); " +
			"anti-affinity over topology.kubernetes.io/zone: the pod must not join 1 pod in b (app In [web]))",
		"a b c d e": "anti-affinity over topology.kubernetes.io/zone: the pod must not join 1 pod in a (app In [web]); " +
			"the same or other rules in 4 more domains)",
	} {
		w := newWorld(t)
		list := strings.Fields(zones)
		for i := range w.objects.Classes[0].Types {
			x := &w.objects.Classes[0].Types[i]
			x.Offerings = nil
			for _, zone := range list {
				x.Offerings = append(x.Offerings, catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: 85_000_000, Available: true})
			}
		}
		w.pods("web", len(list)+1, 1000, func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": "web"})
			p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")}
		})
		got := ""
		for _, o := range w.step().Plan.Outcomes {
			if o.Verdict == plan.Unplaceable {
				got = o.Explain()
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: explained as %q, want %q in it", zones, got, want)
		}
	}
}

func TestStep_SaysWhenCapacityThatRanOutIsTriedAgain(t *testing.T) {
	w := newWorld(t).pods("web", 1, 3000) // more than c5.large has
	for i, name := range []string{"c5.large", "c5.xlarge", "m5.xlarge"} {
		for j, zone := range []string{"a", "b"} {
			key := catalog.OfferingKey{CapacityType: label.OnDemand, InstanceType: name, Zone: zone}
			w.memory = unavailable(w.memory, w.now.Add(time.Duration(1+2*i+j)*time.Minute), key)
		}
	}
	want := `NodePool "general": the capacity ran out a moment ago, 2 instance types; tried again at 2026-01-01T00:03:00Z`
	if got := w.step().Plan.Outcomes[0].Explain(); !strings.HasSuffix(got, want) {
		t.Errorf("explained as %q, want %q", got, want)
	}
}

func TestStep_SaysThatLimitsCountTheLaunchesOfThePlan(t *testing.T) {
	w := newWorld(t).pods("web", 2, 3000)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 5000}}
	want := `NodePool "general": the limit is 5 cpu, the pool has 4 with the launches of this plan, and the smallest node that holds the pod adds 4`
	for _, o := range w.step().Plan.Outcomes {
		if o.Verdict == plan.Unplaceable {
			if got := o.Explain(); !strings.HasSuffix(got, want) {
				t.Errorf("explained as %q, want %q", got, want)
			}
			return
		}
	}
	t.Error("both pods have a place")
}
