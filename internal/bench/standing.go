package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A Standing is a fleet that one Step bought for the pods, and all of them on it, with a
// pool that lets 10 % of the nodes go at once.
type Standing struct {
	Setting Setting
	Objects cluster.Objects
}

// Stand makes a Standing of types up to a size.
func Stand(seed uint64, pods []cluster.Pod, maxVCPU int) (Standing, error) {
	setting, err := Published(maxVCPU)
	if err != nil {
		return Standing{}, err
	}
	base, err := Warm(setting)
	if err != nil {
		return Standing{}, err
	}
	in, err := base.Input(seed, pods)
	if err != nil {
		return Standing{}, err
	}
	objects := settled(base, pods, engine.Step(in).Plan)
	for i := range objects.Claims {
		c := &objects.Claims[i]
		c.LaunchedAt, c.InitializedAt, c.LastPodEvent = c.Created, c.Created, c.Created
	}
	objects.Pools = slices.Clone(objects.Pools)
	objects.Pools[0].Disruption = cluster.Disruption{
		Policy: cluster.WhenEmptyOrUnderutilized, Budgets: []cluster.Budget{{Most: mostPercent, Percent: true}},
	}
	return Standing{setting, objects}, nil
}

// Input is the Step of a daemon that has just started, an hour after the fleet came up. So
// many per cent of the nodes may go at once.
func (s Standing) Input(percent int64) (engine.Input, error) {
	objects := s.Objects
	objects.Pools = slices.Clone(objects.Pools)
	objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: percent, Percent: true}}
	snapshot, err := cluster.New(objects)
	if err != nil {
		return engine.Input{}, fmt.Errorf("fleet index: %w", err)
	}
	return engine.Input{Snapshot: snapshot, Policy: s.Setting.Policy(), Now: Began().Add(time.Hour)}, nil
}

// mostPercent is how many hundredths of the nodes may go at once.
const mostPercent = 10

// Budget is the pool's, as the peer reads it.
func (s Standing) Budget() string { return fmt.Sprintf("%d%%", mostPercent) }

// ScaledIn is w1's fleet of types up to 32 vCPU after controllers have deleted pods until so
// many per cent are left. The seed draws which.
func ScaledIn(seed uint64, percent int) (Standing, error) {
	from, err := File("w1_300x10k.csv")
	if err != nil {
		return Standing{}, err
	}
	s, err := Stand(seed, Pods(seed, from), 32)
	s.Objects.Pods = keep(seed, s.Objects.Pods, percent)
	return s, err
}

// ComparedFleets are the rows of which the peer is asked, too, and how many per cent of
// their pods are left.
func ComparedFleets() map[string]int { return map[string]int{"to=80": 80, "to=50": 50, "to=30": 30} }

// keep draws so many per cent of the pods.
func keep(seed uint64, pods []cluster.Pod, percent int) (out []cluster.Pod) {
	rng := rand.New(rand.NewPCG(seed, 0x5ca1e)) //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
	for _, i := range rng.Perm(len(pods))[:len(pods)*percent/100] {
		out = append(out, pods[i])
	}
	return out
}

// settled is the cluster after the plan has been carried out: each launch is a
// node of its cheapest type, and its pods run there.
func settled(base Base, pods []cluster.Pod, p plan.Plan) cluster.Objects {
	types := map[string]catalog.InstanceType{}
	for _, t := range base.Setting.Types {
		types[t.Name] = t
	}
	on := map[string]string{}
	objects := base.objects
	for _, a := range p.Actions {
		l, ok := a.(plan.Launch)
		if !ok {
			continue
		}
		t := types[l.Types[0].Type]
		labels := t.Labels.Merge(l.Labels).With(label.Zone, l.Zones[0]).With(label.CapacityType, l.CapacityType).
			With(label.NodePool, l.Pool).With(label.Hostname, l.Name)
		objects.Nodes = append(objects.Nodes, cluster.Node{
			Name: l.Name, UID: l.Name, Labels: labels, Taints: l.Taints, Allocatable: t.Allocatable, Ready: true, Claim: l.Name, Created: Began(),
		})
		objects.Claims = append(objects.Claims, cluster.Claim{
			Name: l.Name, UID: l.Name, Pool: l.Pool, Class: l.Class, Labels: labels, Requirements: l.Requirements, Taints: l.Taints, Requests: l.Content,
			InstanceID: "i-" + l.Name, InstanceType: t.Name, Zone: l.Zones[0], CapacityType: l.CapacityType, Allocatable: t.Allocatable,
			Node: l.Name, Launched: true, Registered: true, Initialized: true, Created: Began(),
		})
		for _, id := range l.Pods {
			on[id] = l.Name
		}
	}
	for _, pod := range pods {
		pod.Node, pod.Unschedulable = on[pod.ID()], false
		objects.Pods = append(objects.Pods, pod)
	}
	return objects
}
