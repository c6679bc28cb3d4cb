package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Claim is the NodeClaim that the daemon makes of the launch. The error is of a launch that
// contradicts itself, which the core does not make.
func Claim(l plan.Launch, now time.Time) (cluster.Claim, error) {
	types := make([]string, len(l.Types))
	for i, c := range l.Types {
		types[i] = c.Type
	}
	requirements := l.Requirements
	for _, x := range []struct {
		key    string
		values []string
	}{{label.InstanceType, types}, {label.Zone, l.Zones}, {label.CapacityType, []string{l.CapacityType}}} {
		in, err := label.NewRequirement(x.key, label.In, x.values...)
		if err != nil {
			return cluster.Claim{}, fmt.Errorf("launch %s: %w", l.Name, err)
		}
		requirements = requirements.And(label.All(in))
	}
	return cluster.Claim{
		Name: l.Name, UID: "uid-" + l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, Taints: l.Taints, StartupTaints: l.StartupTaints,
		Reservation: l.Reservation, Requirements: requirements, Requests: l.Content, Planned: l.Planned, Move: l.Move, Created: now,
	}, nil
}

// Offer is an offering that a launch may get.
type Offer struct {
	Type catalog.InstanceType
	Of   catalog.Offering
}

// Key names the offering.
func (o Offer) Key() catalog.OfferingKey {
	return catalog.OfferingKey{CapacityType: o.Of.CapacityType, InstanceType: o.Type.Name, Zone: o.Of.Zone, Reservation: o.Of.Reservation}
}

// Offers lists what the NodeClaim may become, by its class.
func Offers(classes []cluster.Class, c *cluster.Claim) (out []Offer) {
	for _, class := range classes {
		if class.Name != c.Class {
			continue
		}
		for _, t := range class.Types {
			if !c.Requirements.Admits(label.InstanceType, t.Name) {
				continue
			}
			for _, o := range t.Offerings {
				if o.Available && o.Reservation == c.Reservation && c.Requirements.Admits(label.Zone, o.Zone) && c.Requirements.Admits(label.CapacityType, o.CapacityType) {
					out = append(out, Offer{t, o})
				}
			}
		}
	}
	return out
}

// ByPrice sorts the offers, the cheapest first, and leaves those of one price in their order.
func ByPrice(offers []Offer) {
	slices.SortStableFunc(offers, func(a, b Offer) int { return cmp.Compare(a.Of.Price, b.Of.Price) })
}

// Launch makes the NodeClaim that of an instance which got the offer.
func (o Offer) Launch(c *cluster.Claim, now time.Time) {
	c.Launched, c.InstanceID, c.InstanceType, c.Zone, c.CapacityType = true, "i-"+c.Name, o.Type.Name, o.Of.Zone, o.Of.CapacityType
	c.LaunchedAt, c.Capacity, c.Allocatable = now, o.Type.Capacity, o.Type.Allocatable
	c.Labels = c.Labels.Merge(o.Type.Labels).Merge(o.Of.Labels())
}

// Join is the node that joins for the NodeClaim, with its taints and the further ones. It is not
// ready.
func Join(c *cluster.Claim, now time.Time, further ...cluster.Taint) cluster.Node {
	name := "node-" + c.Name
	c.Node, c.Registered = name, true
	return cluster.Node{
		Name: name, UID: "uid-" + name, Labels: c.Labels.With(label.Hostname, name), Allocatable: c.Allocatable, Claim: c.Name, Created: now,
		Taints: slices.Concat(c.Taints, c.StartupTaints, further),
	}
}

// Daemon is the pod of the DaemonSet on the node; false if it has none there. The taints are
// those that the node keeps.
func Daemon(d *cluster.DaemonSet, n *cluster.Node, taints []cluster.Taint, now time.Time) (cluster.Pod, bool) {
	name := d.Name + "-" + n.Name
	return cluster.Pod{
		UID: "uid-" + name, Namespace: d.Namespace, Name: name, Shape: d.Shape, Node: n.Name, Created: now, Pinned: true,
		Owner: cluster.Owner{Kind: "DaemonSet", Name: d.Name, UID: d.UID},
	}, fit.Node(d.Shape, n.Labels, taints)
}
