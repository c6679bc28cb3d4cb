package cluster

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The checks find objects that no sound API server delivers. A reference to an
// unknown object is no error, since events arrive in any order.

func (p *pod) check() error {
	name := "pod " + p.id
	switch {
	case p.Namespace == "" || p.Name == "":
		return fmt.Errorf("cluster index: pod %q: namespace and name must both be given", p.id)
	case p.Shape.plain():
		if resource, count := negative(p.Shape.Requests); resource != "" {
			return negativeError(name, "requests", resource, count)
		}
		return checkLabels(name, p.Labels)
	}
	if err := checkLabels(name, p.Labels); err != nil {
		return err
	}
	return p.Shape.check(name)
}

// plain says whether the requests are the only part of the shape that can be
// invalid.
func (s *Shape) plain() bool {
	return len(s.Requests.Extended) == 0 && len(s.Preferred) == 0 && len(s.Spread) == 0 && len(s.PodAffinity) == 0 &&
		len(s.PodAntiAffinity) == 0 && len(s.Ports) == 0 && s.Gang.Size == 0
}

func (s *Shape) check(of string) error {
	if err := checkResources(of, "requests", s.Requests); err != nil {
		return err
	}
	for i, p := range s.Preferred {
		if p.Weight < 0 || p.Weight > 100 {
			return weightError(of, fmt.Sprintf("preferred node affinity %d", i), p.Weight)
		}
	}
	for i, c := range s.Spread {
		if c.Key == "" {
			return fmt.Errorf("cluster index: %s: spread %d: topologyKey is empty; set it", of, i)
		}
		if c.MaxSkew < 1 {
			return fmt.Errorf("cluster index: %s: spread %d over %s: maxSkew is %d; it must be at least 1", of, i, c.Key, c.MaxSkew)
		}
		if c.MinDomains < 0 {
			return fmt.Errorf("cluster index: %s: spread %d over %s: minDomains is %d; it must not be negative", of, i, c.Key, c.MinDomains)
		}
	}
	for _, terms := range [2]struct {
		field string
		list  []PodTerm
	}{{"pod affinity", s.PodAffinity}, {"pod anti-affinity", s.PodAntiAffinity}} {
		for i, t := range terms.list {
			if t.Key == "" {
				return fmt.Errorf("cluster index: %s: %s %d: topologyKey is empty; set it", of, terms.field, i)
			}
			if t.Weight < 0 || t.Weight > 100 {
				return weightError(of, fmt.Sprintf("%s %d over %s", terms.field, i, t.Key), t.Weight)
			}
		}
	}
	for _, p := range s.Ports {
		if p.Port < 1 || p.Port > math.MaxUint16 {
			return fmt.Errorf("cluster index: %s: host port %d: it must be between 1 and 65535", of, p.Port)
		}
	}
	if s.Gang.Name == "" && s.Gang.Size != 0 {
		return fmt.Errorf("cluster index: %s: gang of size %d has no name; give it a name, or remove the size", of, s.Gang.Size)
	}
	if s.Gang.Size < 0 {
		return fmt.Errorf("cluster index: %s: gang %s: size is %d; it must not be negative", of, s.Gang.Name, s.Gang.Size)
	}
	return nil
}

func weightError(of, field string, weight int32) error {
	return fmt.Errorf("cluster index: %s: %s: weight is %d; it must be between 1 and 100, or 0 where the term is required", of, field, weight)
}

func negative(r quantity.Resources) (resource string, count int64) {
	switch {
	case r.MilliCPU < 0:
		return quantity.CPU, r.MilliCPU
	case r.MemoryBytes < 0:
		return quantity.Memory, r.MemoryBytes
	case r.EphemeralBytes < 0:
		return quantity.EphemeralStorage, r.EphemeralBytes
	case r.PodSlots < 0:
		return quantity.Pods, r.PodSlots
	}
	for _, a := range r.Extended {
		if a.Count < 0 {
			return a.Name, a.Count
		}
	}
	return "", 0
}

func negativeError(of, field, resource string, count int64) error {
	unit := ""
	switch resource {
	case quantity.CPU:
		unit = "m"
	case quantity.Memory, quantity.EphemeralStorage:
		unit = " bytes"
	}
	return fmt.Errorf("cluster index: %s: %s of %s is %d%s; it must not be negative", of, field, resource, count, unit)
}

func checkResources(of, field string, r quantity.Resources) error {
	if resource, count := negative(r); resource != "" {
		return negativeError(of, field, resource, count)
	}
	for i, a := range r.Extended {
		if a.Name == "" {
			return fmt.Errorf("cluster index: %s: %s: a resource has no name; give it a name", of, field)
		}
		if i > 0 && r.Extended[i-1].Name >= a.Name {
			return fmt.Errorf("cluster index: %s: %s of %s: extended resources must be sorted by name and each be given once", of, field, a.Name)
		}
	}
	return nil
}

func checkNode(n *Node) error {
	if err := checkLabels("node "+n.Name, n.Labels); err != nil {
		return err
	}
	return checkResources("node "+n.Name, "allocatable", n.Allocatable)
}

func checkClaim(c *Claim) error {
	if err := checkResources("nodeclaim "+c.Name, "requests", c.Requests); err != nil {
		return err
	}
	for _, x := range c.Planned {
		if x.Count < 0 {
			return fmt.Errorf("cluster index: nodeclaim %s: the number of planned pods of kind %s is %d; it must not be negative", c.Name, x.Kind, x.Count)
		}
	}
	if err := checkLabels("nodeclaim "+c.Name, c.Labels); err != nil {
		return err
	}
	if err := checkResources("nodeclaim "+c.Name, "capacity", c.Capacity); err != nil {
		return err
	}
	return checkResources("nodeclaim "+c.Name, "allocatable", c.Allocatable)
}

func checkPool(p Pool) error {
	if p.Weight < 0 || p.Weight > 100 {
		return fmt.Errorf("cluster index: nodepool %s: weight is %d; it must be between 1 and 100, or 0 where none is set", p.Name, p.Weight)
	}
	if p.Replicas < 0 || p.Replicas > 0 && !p.Static {
		return fmt.Errorf("cluster index: nodepool %s: replicas is %d; it must not be negative, and only a static pool has any", p.Name, p.Replicas)
	}
	if p.Disruption.After < 0 {
		return fmt.Errorf("cluster index: nodepool %s: consolidateAfter is %s; it must not be negative", p.Name, p.Disruption.After)
	}
	for i, l := range p.Limits {
		if l.Count < 0 {
			return negativeError("nodepool "+p.Name, "limits", l.Name, l.Count)
		}
		if slices.ContainsFunc(p.Limits[:i], func(x quantity.Amount) bool { return x.Name == l.Name }) {
			return fmt.Errorf("cluster index: nodepool %s: limits of %s are given twice; give them once", p.Name, l.Name)
		}
	}
	for i, m := range p.MinValues {
		if m.Count < 1 {
			return fmt.Errorf("cluster index: nodepool %s: minValues of %s is %d; it must be at least 1", p.Name, m.Key, m.Count)
		}
		if i > 0 && p.MinValues[i-1].Key >= m.Key {
			return fmt.Errorf("cluster index: nodepool %s: minValues of %s: they must be sorted by key and each be given once", p.Name, m.Key)
		}
	}
	return checkLabels("nodepool "+p.Name, p.Labels)
}

// checkLabels refuses two values for one key. It also refuses labels that are
// not sorted by key, since the lookup of a key relies on the order.
func checkLabels(of string, l label.Labels) error {
	for i := 1; i < len(l); i++ {
		if l[i-1].Key >= l[i].Key {
			return fmt.Errorf("cluster index: %s: label %s: labels must be sorted by key and each be given once", of, l[i].Key)
		}
	}
	return nil
}

func checkClass(c Class) error {
	if c.Volumes < 0 || c.Address < 0 {
		return fmt.Errorf("cluster index: ec2nodeclass %s: volumes for %d and a public address for %d nano-dollars an hour: neither may be negative", c.Name, c.Volumes, c.Address)
	}
	for i, t := range c.Types {
		if t.Name == "" || i > 0 && c.Types[i-1].Name >= t.Name {
			return fmt.Errorf("cluster index: ec2nodeclass %s: instance type %q: types must have names, be sorted by them, and each be given once", c.Name, t.Name)
		}
		for i, o := range t.Offerings {
			if wrong := checkOffering(o, t.Offerings[:i]); wrong != "" {
				return fmt.Errorf("cluster index: ec2nodeclass %s: instance type %s %s in %s: %s", c.Name, t.Name, o.CapacityType, o.Zone, wrong)
			}
		}
	}
	return nil
}

func checkOffering(o catalog.Offering, before []catalog.Offering) (wrong string) {
	switch {
	case o.Zone == "" || o.CapacityType == "":
		return "zone and capacity type must both be given"
	case o.Price < 0 || o.Left < 0:
		return fmt.Sprintf("price %d and left %d must not be negative", o.Price, o.Left)
	case (o.CapacityType == label.Reserved) != (o.Reservation != ""):
		return fmt.Sprintf("reservation is %q; an offering must name a reservation if its capacity type is reserved, and no other offering may", o.Reservation)
	case slices.ContainsFunc(before, func(x catalog.Offering) bool {
		return x.Zone == o.Zone && x.CapacityType == o.CapacityType && x.Reservation == o.Reservation
	}):
		return "the offering is given twice; give it once"
	}
	return ""
}

func checkDaemonSet(d DaemonSet) error {
	if d.Namespace == "" || d.Name == "" {
		return fmt.Errorf("cluster index: daemonset %q: namespace and name must both be given", d.ID())
	}
	return d.Shape.check("daemonset " + d.ID())
}

// checkWorkload bounds Missing by the API's replicas, which have 32 bits, so
// that a sum over all workloads cannot overflow.
func checkWorkload(w *Workload) error {
	if w.Kind == "" || w.Namespace == "" || w.Name == "" {
		return fmt.Errorf("cluster index: workload %q: kind, namespace and name must all be given", w.ID())
	}
	if w.Missing < 0 || w.Missing > math.MaxInt32 {
		return fmt.Errorf("cluster index: workload %s: missing is %d; it must be between 0 and %d", w.ID(), w.Missing, math.MaxInt32)
	}
	return w.Shape.check("workload " + w.ID())
}
