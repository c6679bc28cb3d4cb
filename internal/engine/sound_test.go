package engine_test

import (
	"math/big"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// fataler is a test, of either kind.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSound holds a plan to what every plan must keep, starting from the
// objects: it shares nothing with the engine but the filters of one place.
func checkSound(t fataler, o cluster.Objects, out engine.Output) {
	t.Helper()
	checkOutcomes(t, o, out)
	checkDeletes(t, o, out)
	checkPorts(t, o, out)
	pods := map[string]cluster.Pod{}
	for _, p := range o.Pods {
		pods[p.ID()] = p
	}
	names := map[string]bool{}
	for _, c := range o.Claims {
		names[c.Name] = true
	}
	var cost quantity.Money
	var extra plan.Extra
	launches := of[plan.Launch](out)
	for _, l := range launches {
		if names[l.Name] {
			t.Fatalf("the name %s is taken", l.Name)
		}
		names[l.Name] = true
		cost += l.Price
		class := o.Classes[slices.IndexFunc(o.Classes, func(c cluster.Class) bool { return c.Name == l.Class })]
		extra.Volumes, extra.Addresses = extra.Volumes+class.Volumes, extra.Addresses+class.Address
		checkLaunch(t, o, pods, l)
	}
	if cost != out.Plan.Cost {
		t.Fatalf("the launches cost %d, the plan says %d", cost, out.Plan.Cost)
	}
	for _, c := range out.Plan.Proofs {
		extra.Nodes = c.NodeCost * quantity.Money(len(launches))
	}
	if len(out.Plan.Proofs) > 0 && extra != out.Plan.Extra {
		t.Fatalf("the launches cost %+v beside their instances, the plan says %+v", extra, out.Plan.Extra)
	}
	checkLimits(t, o, launches)
	checkReservations(t, o, launches)
	snapshot, err := cluster.New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, c := range out.Plan.Proofs {
		if !c.Scratch && c.Bound > out.Plan.Total() {
			t.Fatalf("costs %d, at least %d claimed", out.Plan.Total(), c.Bound)
		}
		key := func(namespace string, l label.Labels, s cluster.Shape) string {
			return snapshot.GroupFor(namespace, l, s).Key
		}
		if err := proof.Check(o, c, key); err != nil {
			t.Fatalf("certificate %+v: %v", c, err)
		}
	}
}

// checkOutcomes wants one outcome for each pod that needs a place, and no pod
// with two.
func checkOutcomes(t fataler, o cluster.Objects, out engine.Output) {
	t.Helper()
	told := map[string]int{}
	for _, x := range out.Plan.Outcomes {
		if x.Verdict == plan.Unplaceable && len(x.Reasons) == 0 || !slices.Contains([]plan.Verdict{plan.Unplaceable, plan.Waiting, plan.AwaitsNodes}, x.Verdict) && x.On == "" {
			t.Fatalf("an outcome that says nothing: %+v", x)
		}
		_ = x.Explain()
		for _, id := range x.Pods {
			told[id]++
		}
	}
	for _, p := range o.Pods {
		pending := p.Node == "" && !p.Deleting && !p.Pinned
		if n := told[p.ID()]; n > 1 || pending && n == 0 {
			t.Fatalf("%s has %d outcomes", p.ID(), n)
		}
		delete(told, p.ID())
	}
	for id := range told {
		t.Fatalf("an outcome for %s, which is not there", id)
	}
}

// checkDeletes wants no node removed that gets a pod in the same plan.
func checkDeletes(t fataler, o cluster.Objects, out engine.Output) {
	t.Helper()
	for _, d := range of[plan.Delete](out) {
		node := o.Claims[slices.IndexFunc(o.Claims, func(c cluster.Claim) bool { return c.Name == d.Claim })].Node
		for _, x := range out.Plan.Outcomes {
			if x.On == d.Claim || x.On == node && node != "" {
				t.Fatalf("%s is removed (%s) and gets %v", d.Claim, d.Why, x.Pods)
			}
		}
	}
}

// checkPorts wants no pod where a DaemonSet takes its host port. Where the scheduler
// makes room for a pod is the scheduler's affair.
func checkPorts(t fataler, o cluster.Objects, out engine.Output) {
	t.Helper()
	on := map[string]string{}
	for _, x := range out.Plan.Outcomes {
		for _, id := range x.Pods {
			on[id] = x.On
		}
	}
	var hosts []cluster.Node
	for _, n := range o.Nodes {
		c := cluster.Claim{Initialized: true}
		for _, x := range o.Claims {
			if x.Name == n.Claim || n.Claim == "" && x.Node == n.Name {
				c = x
			}
		}
		if !c.Initialized {
			n.Labels, n.Taints = c.Labels.Merge(n.Labels), c.Taints
		}
		hosts = append(hosts, n)
	}
	for _, c := range o.Claims {
		if c.Launched && c.Node == "" {
			hosts = append(hosts, cluster.Node{Name: c.Name, Labels: c.Labels, Taints: c.Taints})
		}
	}
	for _, p := range o.Pods {
		if on[p.ID()] == "" || len(p.Shape.Ports) == 0 || p.Nominated != "" && !p.NominatedByUs {
			continue
		}
		for _, n := range hosts {
			for _, d := range o.DaemonSets {
				if n.Name == on[p.ID()] && fit.PortsConflict(d.Shape.Ports, p.Shape.Ports) && fit.Node(d.Shape, n.Labels, n.Taints) {
					t.Fatalf("%s is to go to %s, where %s takes its host port", p.ID(), n.Name, d.ID())
				}
			}
		}
	}
}

// checkLaunch looks at every instance that the launch may become.
func checkLaunch(t fataler, o cluster.Objects, pods map[string]cluster.Pod, l plan.Launch) {
	t.Helper()
	at := slices.IndexFunc(o.Pools, func(p cluster.Pool) bool { return p.Name == l.Pool })
	if at < 0 || !o.Pools[at].Ready || o.Pools[at].Deleting || len(l.Types) == 0 || len(l.Zones) == 0 {
		t.Fatalf("launch of nothing, or for pool %s, which is not ready: %+v", l.Pool, l)
	}
	pool := o.Pools[at]
	class := o.Classes[slices.IndexFunc(o.Classes, func(c cluster.Class) bool { return c.Name == l.Class })]
	if !class.Ready || class.Name != pool.Class {
		t.Fatalf("launch of class %s", class.Name)
	}
	for i, c := range l.Types {
		at := slices.IndexFunc(class.Types, func(x catalog.InstanceType) bool { return x.Name == c.Type })
		if at < 0 {
			t.Fatalf("type %s is not of class %s", c.Type, class.Name)
		}
		x := class.Types[at]
		if i > 0 && c.Price < l.Types[0].Price && len(pool.MinValues) == 0 { // more are carried for those, whatever their size
			t.Fatalf("%s is cheaper than the first: %+v", c.Type, l.Types)
		}
		best := quantity.Money(-1)
		for _, of := range x.Offerings {
			if of.CapacityType != l.CapacityType || of.Reservation != l.Reservation || !slices.Contains(l.Zones, of.Zone) || !of.Available {
				continue
			}
			if of.Price <= 0 && of.Reservation == "" || of.Reservation != "" && of.Left == 0 {
				continue
			}
			if best < 0 || of.Price < best {
				best = of.Price
			}
			checkInstance(t, o.DaemonSets, pods, l, pool, x, of)
		}
		if best != c.Price || i == 0 && best != l.Price {
			t.Fatalf("%s in %v costs %d, the launch says %d", c.Type, l.Zones, best, c.Price)
		}
	}
}

// checkInstance looks at one instance that the launch may become: the pods may
// run there, and fit beside the DaemonSets. Where no pod asks for a resource, it
// is the DaemonSets' own affair.
func checkInstance(t fataler, daemons []cluster.DaemonSet, pods map[string]cluster.Pod, l plan.Launch, pool cluster.Pool, x catalog.InstanceType, of catalog.Offering) {
	t.Helper()
	labels := l.Labels.Merge(x.Labels).Merge(label.FromMap(map[string]string{label.Zone: of.Zone, label.CapacityType: of.CapacityType}))
	if of.ZoneID != "" {
		labels = labels.With(label.ZoneID, of.ZoneID)
	}
	if unmet, bad := pool.Requirements.Unmet(labels); bad {
		t.Fatalf("%s in %s does not meet the pool's %s", x.Name, of.Zone, unmet)
	}
	sum := map[string]*big.Int{}
	add := func(name string, n int64) {
		if sum[name] == nil {
			sum[name] = new(big.Int)
		}
		sum[name].Add(sum[name], big.NewInt(n))
	}
	for _, id := range l.Pods {
		p := pods[id]
		if !fit.Node(p.Shape, labels, pool.Taints) {
			t.Fatalf("%s may become %s in %s, where %s cannot run", l.Name, x.Name, of.Zone, id)
		}
		r := p.Shape.Requests
		add(quantity.CPU, r.MilliCPU)
		add(quantity.Memory, r.MemoryBytes)
		add(quantity.EphemeralStorage, r.EphemeralBytes)
		add(quantity.Pods, r.PodSlots)
		for _, a := range r.Extended {
			if a.Name != slots {
				add(a.Name, a.Count)
			}
		}
	}
	overhead := fit.Overhead(daemons, labels, pool.Taints)
	for name, n := range sum {
		room, kept := x.Allocatable.Get(name), overhead.Get(name)
		if n.Sign() > 0 && n.Add(n, big.NewInt(kept)).Cmp(big.NewInt(room)) > 0 {
			t.Fatalf("%s may become %s with %d of %s; its pods and %d for DaemonSets need %s", l.Name, x.Name, room, name, kept, n)
		}
	}
}

// checkLimits counts each launch at the largest type that it may become.
func checkLimits(t fataler, o cluster.Objects, launches []plan.Launch) {
	t.Helper()
	for _, p := range o.Pools {
		for _, limit := range p.Limits {
			used, more := new(big.Int), false
			for _, c := range o.Claims {
				if c.Pool != p.Name {
					continue
				}
				if limit.Name == "nodes" {
					used.Add(used, big.NewInt(1))
				} else {
					used.Add(used, big.NewInt(c.Allocatable.Get(limit.Name)))
				}
			}
			for _, l := range launches {
				if l.Pool != p.Name {
					continue
				}
				n := int64(1)
				if limit.Name != "nodes" {
					n = 0
					for _, class := range o.Classes {
						for _, x := range class.Types {
							if class.Name == l.Class && slices.ContainsFunc(l.Types, func(c plan.Choice) bool { return c.Type == x.Name }) {
								n = max(n, x.Capacity.Get(limit.Name))
							}
						}
					}
				}
				more = more || n > 0
				used.Add(used, big.NewInt(n))
			}
			if more && used.Cmp(big.NewInt(limit.Count)) > 0 {
				t.Fatalf("pool %s: limit %s of %d, used with the launches %s", p.Name, limit.Name, limit.Count, used)
			}
		}
	}
}

// checkReservations wants no reservation to be given out more than is left.
func checkReservations(t fataler, o cluster.Objects, launches []plan.Launch) {
	t.Helper()
	left, used := map[string]int64{}, map[string]int64{}
	for _, c := range o.Classes {
		for _, x := range c.Types {
			for _, of := range x.Offerings {
				left[of.Reservation] = max(left[of.Reservation], of.Left)
			}
		}
	}
	for _, l := range launches {
		if used[l.Reservation]++; l.Reservation != "" && used[l.Reservation] > left[l.Reservation] {
			t.Fatalf("reservation %s has %d left and %d launches", l.Reservation, left[l.Reservation], used[l.Reservation])
		}
	}
}
