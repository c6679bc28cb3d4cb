//go:build lab

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
)

const instanceType = corev1.LabelInstanceTypeStable

func podsRunOnNodesThatItLaunches(t *testing.T, d *daemonLab) {
	p := pool{name: "first"}
	d.createPool(t, p)
	d.deploy(t, p, 5)
	d.running(t, p, 5)
	claims := d.oneInstanceEach(t, p)
	d.reportLatency(t, p)
	d.scale(t, p, 0)
	d.empties(t, p)
	for _, c := range claims {
		d.gone(t, c)
	}
}

// noPodIsLaunchedForTwice scales a Deployment in two steps: pods that wait for
// a machine that is on its way must not get another one.
func noPodIsLaunchedForTwice(t *testing.T, d *daemonLab, spot bool) {
	p := pool{name: "scale", spot: spot, requirements: map[string][]string{"karpenter.k8s.aws/instance-category": {"c", "m", "r"}}}
	if spot {
		p.name = "scale-spot"
	}
	d.createPool(t, p)
	d.deploy(t, p, 5)
	d.running(t, p, 5)
	d.scale(t, p, 40)
	for _, pod := range d.running(t, p, 40) {
		if !slices.ContainsFunc(d.instances(p), func(i ec2sim.Instance) bool { return i.PrivateDNSName == pod.Spec.NodeName && i.Spot == spot }) {
			t.Errorf("pod %s runs on %s, which is no instance of the pool that is spot=%t", pod.Name, pod.Spec.NodeName, spot)
		}
	}
	var cores int64
	claims := d.oneInstanceEach(t, p)
	for _, c := range claims {
		cores += c.Status.Capacity.Cpu().Value()
	}
	if cores < 40 || cores > 80 {
		t.Errorf("%d nodes have %d CPUs for 40 pods of one", len(claims), cores)
	}
	t.Logf("%d nodes, %d CPUs", len(claims), cores)
	d.reportLatency(t, p)
	d.scale(t, p, 0)
	d.empties(t, p)
}

// nextOfferingWithinAFleet has the type in one zone with no capacity, in one
// with capacity for one machine: the fleets go to the third.
func nextOfferingWithinAFleet(t *testing.T, d *daemonLab) {
	const name = "c6i.large"
	p := pool{name: "zones", requirements: map[string][]string{instanceType: {name}}}
	d.Cloud.EC2.SetCapacity(v1.CapacityTypeOnDemand, name, d.Region+"a", 0)
	d.Cloud.EC2.SetCapacity(v1.CapacityTypeOnDemand, name, d.Region+"b", 1)
	d.createPool(t, p)
	d.deploy(t, p, 4)
	d.running(t, p, 4)
	d.oneInstanceEach(t, p)
	in := map[string]int{}
	for _, i := range d.instances(p) {
		in[strings.TrimPrefix(i.Zone, d.Region)]++
	}
	if in["a"] != 0 || in["b"] != 1 || in["c"] != 3 {
		t.Errorf("instances by zone: %v, want what is left: one in b, three in c", in)
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// failedFleetIsPlannedAnew has no capacity of the cheaper of two types at all.
func failedFleetIsPlannedAnew(t *testing.T, d *daemonLab) {
	const cheap, dear = "m6a.large", "m6i.large"
	p := pool{name: "scarce", requirements: map[string][]string{instanceType: {cheap, dear}}}
	for _, zone := range []string{"a", "b", "c"} {
		d.Cloud.EC2.SetCapacity(v1.CapacityTypeOnDemand, cheap, d.Region+zone, 0)
	}
	d.createPool(t, p)
	d.deploy(t, p, 2)
	d.running(t, p, 2)
	d.eachHasOne(t, p) // a NodeClaim whose launch has just failed goes
	for _, c := range d.oneInstanceEach(t, p) {
		if c.Labels[instanceType] != dear {
			t.Errorf("NodeClaim %s is a %s", c.Name, c.Labels[instanceType])
		}
	}
	if said := d.logs(); !strings.Contains(said, cheap+" in "+d.Region+"a (on-demand): InsufficientInstanceCapacity") {
		t.Error("no fleet failed for lack of capacity: the test tested nothing")
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// reportLatency tells how long it took from the first sight of a pod to the
// receipt of the CreateFleet call for it, on one clock.
func (d *daemonLab) reportLatency(t *testing.T, p pool) {
	t.Helper()
	received := map[string]time.Time{}
	for _, i := range d.everLaunched(p) {
		received[i.Tags[awsspec.TagNodeClaim]] = i.LaunchTime
	}
	var waits []time.Duration
	for entry := range daemonlog.Entries([]byte(d.logs())) {
		var said struct {
			NodeClaim string  `json:"nodeclaim"`
			Seen      []int64 `json:"seen_unix_nano"`
		}
		if entry.Message != "launch nodeclaim" || entry.Fields(&said) != nil {
			continue
		}
		at, ok := received[said.NodeClaim]
		for _, seen := range said.Seen {
			if ok {
				waits = append(waits, at.Sub(time.Unix(0, seen)))
			}
		}
	}
	if len(waits) == 0 {
		t.Fatal("no launch was logged with the pods that it is for")
	}
	slices.Sort(waits)
	t.Logf("pod seen to CreateFleet: median %s, longest %s of %d pods", waits[len(waits)/2], waits[len(waits)-1], len(waits))
}
