package sim

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// reported is what a machine of the type reports for pods, in place of what the catalogue
// says.
func (c Config) reported(instanceType string, listed quantity.Resources) quantity.Resources {
	for _, s := range c.Shorts {
		if s.Type != "" && s.Type != instanceType {
			continue
		}
		listed = listed.With(s.Resource, quantity.MulDiv(listed.Get(s.Resource), 1000-s.Permille, 1000))
	}
	return listed
}

// learn lets the daemon know what the node reports. From then on, its plans count on no more
// for nodes of the type, also when it starts anew.
func (r *run) learn(n *node) {
	if len(r.cfg.Shorts) == 0 {
		return
	}
	d, c := r.daemon, n.claim
	since, known := d.small[c.InstanceType]
	switch vain := !c.Requests.Fits(n.Allocatable); {
	case vain && known && c.Created.After(date(since)):
		r.report.Vain++
	case vain:
		r.report.First++
	}
	if !known {
		d.small[c.InstanceType] = r.clock.now
	}
	next, changed := d.reports.With(catalog.Origin{Class: c.Class}, c.InstanceType, n.Name, n.Allocatable, date(r.clock.now))
	if !changed {
		return
	}
	d.reports = next
	for _, class := range r.cfg.Classes {
		if class.Name == c.Class {
			class.Types = catalog.AsReported(class.Types, next.Of(class.Name, "", []string{""}, date(r.clock.now)))
			r.view.classes = append(r.view.classes, class)
		}
	}
}
