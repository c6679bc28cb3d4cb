package proof

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// source is a number of nodes that can be had at one price. Each node is one of
// the places.
type source struct {
	name   string
	places []place
	price  quantity.Money // 0 for what exists
	count  int64          // number of nodes; unlimited means any number
}

const unlimited = -1

// offerings lists what ready pools can launch, at the price of a whole node. Pools
// that can use one reservation share it.
func (p *proof) offerings() (out []source, err error) {
	index := map[string]int{} // of reservations
	for _, pool := range p.objects.Pools {
		class := p.classes[pool.Class]
		if !class.Ready || !pool.Ready || pool.Deleting || pool.Static {
			continue
		}
		beside := addUp(addUp(class.Volumes, class.Address), p.certificate.NodeCost)
		for _, o := range p.newNodes(pool, class) {
			name, reserved := plan.OfferingName(o.instanceType, o.CapacityType, o.Zone), o.CapacityType == label.Reserved
			if o.Price <= 0 && !reserved {
				if !slices.Contains(p.certificate.Unpriced, name) {
					return nil, fmt.Errorf("%w: %s", ErrUnpriced, name)
				}
				continue
			}
			left := o.Left + p.inUse(o)
			if !o.Available || reserved && left == 0 {
				continue
			}
			id, price := name+"/"+o.Reservation, addUp(max(0, o.Price), beside)
			i, shared := index[id]
			if !shared {
				i = len(out)
				out = append(out, source{name: name, price: price, count: unlimited})
			}
			if reserved {
				index[id], out[i].count = i, max(out[i].count, left)
			}
			out[i].places, out[i].price = append(out[i].places, o.places...), min(out[i].price, price)
		}
	}
	return out, nil
}

// inUse counts our instances that use the reservation. From scratch, the room
// that they take in it is free for others.
func (p *proof) inUse(o offered) (n int64) {
	for _, c := range p.objects.Claims {
		of := c.Reservation == "" || c.Reservation == o.Reservation
		if p.certificate.Scratch && of && c.InstanceType == o.instanceType && c.Zone == o.Zone && c.CapacityType == o.CapacityType {
			n++
		}
	}
	return n
}

// keeps says whether a node counts as given. From scratch, no node of ours does.
// Otherwise all nodes do except those that are leaving.
func (p *proof) keeps(n cluster.Node) bool {
	c, found := p.claims[n.Name]
	if ours := found || n.Claim != ""; !ours {
		return true
	}
	return !p.certificate.Scratch && !n.Leaving(&c) && !slices.Contains(p.certificate.Going, c.Name)
}

// existing lists the room that is given: nodes, and NodeClaims that have no node
// yet. Those of pools that are being deleted take no more pods.
func (p *proof) existing() []source {
	var out []source
	there := map[string]bool{}
	deleted := map[string]bool{}
	for _, x := range p.objects.Pools {
		deleted[x.Name] = x.Deleting
	}
	for _, n := range p.objects.Nodes {
		c, ours := p.claims[n.Name]
		there[c.Name] = true
		if p.keeps(n) && n.TakesPods(&c) && !deleted[c.Pool] && (n.Ready || ours && !c.Initialized) {
			out = append(out, source{name: n.Name, places: []place{p.node(n, c)}, count: 1})
		}
	}
	for _, c := range p.objects.Claims {
		if !there[c.Name] && !p.certificate.Scratch && !c.Leaving() && !deleted[c.Pool] && !slices.Contains(p.certificate.Going, c.Name) {
			out = append(out, source{name: c.Name, places: p.coming(c), count: 1})
		}
	}
	return out
}

// node is a node with its free room. What is nominated for the node by others than
// the daemon takes its room, as what runs there does. While the node starts, its startup taints
// do not count, and the labels and resources that its NodeClaim promises do.
func (p *proof) node(n cluster.Node, c cluster.Claim) place {
	x := place{node: n.Name, labels: n.Labels, taints: n.Taints, room: n.Allocatable}
	if c.Name != "" && !c.Initialized {
		x.labels, x.taints = c.Labels.Merge(n.Labels).Merge(label.OfReady()), c.Taints
		if n.Ready && c.Registered && !c.Starting(n.Taints) {
			x.taints = slices.Concat(c.Taints, c.Undeclared(n.Taints))
		}
		if n.Allocatable.MilliCPU == 0 {
			x.room = c.Allocatable
		}
	}
	x.labels = x.labels.With(label.NodeName, n.Name)
	used := map[string]quantity.Resources{} // by DaemonSet
	for _, pod := range p.nominated[n.Name] {
		x.room = x.room.Sub(pod.Shape.Requests)
	}
	for _, pod := range p.podsOn[n.Name] {
		x.room = x.room.Sub(pod.Shape.Requests)
		if pod.Owner.Kind == "DaemonSet" {
			used[pod.Owner.UID] = used[pod.Owner.UID].Add(pod.Shape.Requests)
		}
	}
	x.room = x.room.Sub(p.overhead(x, used)) // DaemonSet pods that are still to come
	return p.roomForSets(x)
}

// net is the room of a new node less what DaemonSets take of it.
func (p *proof) net(x place) place {
	x.room = x.room.Sub(p.overhead(x, nil))
	return p.roomForSets(x)
}

// coming is a NodeClaim without a node: the instance that was launched for it,
// or every node that it may become.
func (p *proof) coming(c cluster.Claim) (out []place) {
	if c.Launched {
		return []place{p.net(place{labels: c.Labels.Merge(label.OfReady()), taints: c.Taints, room: c.Allocatable})}
	}
	pool := cluster.Pool{Name: c.Pool, Class: c.Class, Labels: c.Labels, Requirements: c.Requirements, Taints: c.Taints}
	for _, o := range p.newNodes(pool, p.classes[c.Class]) {
		out = append(out, o.places...)
	}
	return out
}

// offered is an offering, with the nodes that it becomes.
type offered struct {
	catalog.Offering

	places       []place
	instanceType string
}

// newNodes lists every offering that the pool allows. It becomes a node of each variant.
func (p *proof) newNodes(pool cluster.Pool, class cluster.Class) (out []offered) {
	open := openKeys(pool, class)
	variants := p.variants(open)
	tenancy, _ := pool.Labels.Get(label.Tenancy)
	for _, t := range class.Types {
		ofType := pool.Labels.Merge(t.Labels).With(label.NodePool, pool.Name).With(label.NodeClass, pool.Class).Merge(label.OfReady())
		for _, o := range t.Offerings {
			if o.Reservation != "" && tenancy == label.Dedicated {
				continue // it is of shared hardware
			}
			x := place{labels: ofType.Merge(o.Labels()), open: open, taints: pool.Taints, room: t.Allocatable}
			if !x.meets(pool.Requirements, false) {
				continue
			}
			of := offered{Offering: o, instanceType: t.Name}
			for _, v := range variants {
				of.places = append(of.places, p.variant(x, v))
			}
			out = append(out, of)
		}
	}
	return out
}
