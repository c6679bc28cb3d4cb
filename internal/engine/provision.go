package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/packold"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// provision launches nodes for the demand that found no host. Weight is not a
// price: the pools of the highest weight take what they can, the rest goes to
// the next.
func (s *step) provision() {
	pools := s.in.Snapshot.PoolsByWeight()
	unavailable := 0
	for len(pools) > 0 && s.remaining() > 0 {
		n := 1
		for n < len(pools) && pools[n].Weight == pools[0].Weight {
			n++
		}
		tier := pools[:n]
		pools = pools[n:]
		list, out, back := s.offers(tier)
		unavailable += out
		if !back.IsZero() {
			s.waitUntil(back, plan.CapacityToReturn)
		}
		s.provisionTier(list, out)
	}
	for i := range s.classes {
		s.refuse(&s.classes[i])
	}
	s.trace.Launches = len(s.launches)
}

func (s *step) remaining() int64 {
	var n int64
	for _, c := range s.classes {
		n += c.count()
	}
	return n
}

// provisionTier packs the remaining demand on the offers of one tier. A limit
// that stops a bin takes that pool's offers away and packs again.
func (s *step) provisionTier(list []offer, unavailable int) {
	for len(list) > 0 && s.remaining() > 0 {
		bits := zoneBits(list)
		classes, index := s.packClasses(list, bits)
		types := packTypes(list, s.in.Policy.SoftMaxMilliCPU)
		bins, _, rounds := packold.Pack(classes, types)
		s.trace.Rounds += rounds
		full := map[string]bool{}
		for _, b := range bins {
			for range b.Copies {
				if !s.launch(list, types, classes, index, bits, b, unavailable) {
					full[list[b.Type].pool.Name] = true
					break
				}
			}
		}
		if len(full) == 0 {
			return
		}
		list = filter(list, func(o offer) bool { return !full[o.pool.Name] })
	}
}

// packClasses lists the classes with demand; index leads back to s.classes.
func (s *step) packClasses(list []offer, bits map[string]int) (classes []packold.Class, index []int) {
	for i, c := range s.classes {
		if c.count() == 0 {
			continue
		}
		pc := packold.Class{Key: c.key, Need: c.shape.Requests, Count: c.count(), Zones: make([]uint64, len(list))}
		for t, o := range list {
			pc.Zones[t] = o.zonesFor(c.shape, bits)
		}
		classes = append(classes, pc)
		index = append(index, i)
	}
	return classes, index
}

func packTypes(list []offer, softMax int64) []packold.Type {
	groups := map[string]int{}
	types := make([]packold.Type, len(list))
	for i, o := range list {
		g := o.pool.Name + "/" + o.capacityType
		if _, ok := groups[g]; !ok {
			groups[g] = len(groups)
		}
		types[i] = packold.Type{
			Name: o.id(), Group: groups[g], Net: o.net, Price: o.price,
			Large: softMax > 0 && o.typ.Capacity.MilliCPU > softMax,
		}
	}
	return types
}

// launch turns one copy of a bin into an action. It returns false where the
// pool's limits do not allow it.
func (s *step) launch(list []offer, types []packold.Type, classes []packold.Class, index []int, bits map[string]int, b packold.Bin, unavailable int) bool {
	best := list[b.Type]
	carried, zones := s.carry(list, types, classes, bits, b)
	carried = s.withinLimits(best.pool, carried)
	if len(carried) == 0 {
		return false
	}
	l := plan.Launch{
		Name: s.claimName(best.pool.Name), Pool: best.pool.Name, PoolUID: best.pool.UID, Class: best.pool.Class,
		CapacityType: best.capacityType, Zones: zones, Requirements: best.pool.Requirements,
		Labels: templateLabels(best.pool), Taints: best.pool.Taints, StartupTaints: best.pool.StartupTaints,
		Content: b.Used.Add(best.typ.Allocatable.Sub(best.net)), Price: carried[0].price,
	}
	for _, o := range carried {
		l.Types = append(l.Types, plan.Choice{Type: o.typ.Name, Price: o.price})
	}
	var slots []Slot
	for _, p := range b.Parts {
		c := &s.classes[index[p.Class]]
		slots = append(slots, Slot{Class: c.key, Count: p.Count})
		s.fillLaunch(&l, c, p.Count)
	}
	slices.Sort(l.Pods)
	l.Why.Considered, l.Why.Unavailable, l.Why.Best = len(list), unavailable, l.Types[0]
	l.Why.RunnerUp = runnerUp(carried)
	s.memory.plan(l.Name, slots)
	s.launches = append(s.launches, l)
	return true
}

// fillLaunch gives n of the class to the launch, real pods first.
func (s *step) fillLaunch(l *plan.Launch, c *demandClass, n int64) {
	l.Why.Pods += n
	s.trace.Placed += n
	for _, list := range []*[]cluster.Pod{&c.pods, &c.displaced} {
		k := min(n, int64(len(*list)))
		for _, p := range (*list)[:k] {
			l.Pods = append(l.Pods, p.ID())
			if node, ok := s.in.Snapshot.Node(p.Node); ok && p.Node != "" {
				l.Why.Replaces = node.Claim
			}
			s.outcomes = append(s.outcomes, plan.Outcome{Pod: p.ID(), Verdict: plan.OnLaunch, On: l.Name})
		}
		*list = (*list)[k:]
		n -= k
	}
	l.Declared += n
	c.declared -= n
}

// carry lists every offer of the bin's pool and capacity type that holds its
// content within the price tolerance, cheapest first, and their zones.
func (s *step) carry(list []offer, types []packold.Type, classes []packold.Class, bits map[string]int, b packold.Bin) ([]offer, []string) {
	best := list[b.Type]
	tolerance := s.in.Policy.OnDemandTolerance
	if best.capacityType == label.Spot {
		tolerance = s.in.Policy.SpotTolerance
	}
	limit := best.price + best.price/1000*quantity.Money(tolerance)
	zones := packold.ZonesOf(classes, b, b.Type)
	carried := []offer{best}
	for t, o := range list {
		if t == b.Type || types[t].Group != types[b.Type].Group || o.price > limit || types[t].Large != types[b.Type].Large {
			continue
		}
		if b.Used.Fits(o.net) && packold.ZonesOf(classes, b, t)&zones != 0 {
			carried = append(carried, o)
		}
	}
	var names []string
	for z, bit := range bits {
		if zones&(1<<bit) != 0 {
			names = append(names, z)
		}
	}
	slices.Sort(names)
	return carried, names
}

// withinLimits drops the types that would overshoot a limit of the pool, given
// what the pool has and what this plan already launches for it at the largest.
func (s *step) withinLimits(p cluster.Pool, carried []offer) []offer {
	if len(p.Limits) == 0 {
		return carried
	}
	used, nodes := s.poolUse(p.Name)
	return filter(carried, func(o offer) bool {
		for _, limit := range p.Limits {
			have, add := used.Get(limit.Name), o.typ.Capacity.Get(limit.Name)
			if limit.Name == "nodes" {
				have, add = nodes, 1
			}
			if add > 0 && have+add > limit.Count {
				return false
			}
		}
		return true
	})
}

// poolUse sums the capacity of the pool's NodeClaims and of this plan's
// launches, each at the largest type that it may become.
func (s *step) poolUse(pool string) (used quantity.Resources, nodes int64) {
	for _, c := range s.in.Snapshot.Claims() {
		if c.Pool != pool {
			continue
		}
		nodes++
		class, _ := s.in.Snapshot.Class(c.Class)
		largest := c.Allocatable // known even where the class is not ready
		for _, t := range class.Types {
			if t.Name == c.InstanceType || c.InstanceType == "" && carries(c.Requirements, label.InstanceType, t.Name) {
				largest = largest.Max(t.Capacity)
			}
		}
		used = used.Add(largest)
	}
	for _, a := range s.launches {
		l := a.(plan.Launch)
		if l.Pool != pool {
			continue
		}
		nodes++
		class, _ := s.in.Snapshot.Class(l.Class)
		var largest quantity.Resources
		for _, t := range class.Types {
			if slices.ContainsFunc(l.Types, func(c plan.Choice) bool { return c.Type == t.Name }) {
				largest = largest.Max(t.Capacity)
			}
		}
		used = used.Add(largest)
	}
	return used, nodes
}

// runnerUp is the cheapest carried type of another family than the best one.
func runnerUp(carried []offer) plan.Choice {
	family := func(o offer) string { f, _, _ := strings.Cut(o.typ.Name, "."); return f }
	for _, o := range carried[1:] {
		if family(o) != family(carried[0]) {
			return plan.Choice{Type: o.typ.Name, Price: o.price}
		}
	}
	return plan.Choice{}
}

// claimName makes the name of the next NodeClaim: the pool's, and five letters
// of the seed. The alphabet is that of Kubernetes' generated names.
func (s *step) claimName(pool string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	x := mix(s.in.Seed + uint64(len(s.launches)+1)*0x9e3779b97f4a7c15)
	suffix := make([]byte, 6)
	for i := range suffix {
		suffix[i] = alphabet[x%uint64(len(alphabet))]
		x /= uint64(len(alphabet))
	}
	return fmt.Sprintf("%s-%s", pool, suffix)
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
