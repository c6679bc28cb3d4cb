package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// viewOf is the class with what new nodes of it have: what the catalogue says, or what
// nodes that were made alike have reported, where that is less.
func viewOf(c *awsv1.EC2NodeClass, facts []catalog.Fact, market catalog.Market, rooms map[string]translate.Room, reports catalog.Reports, overhead catalog.Overhead, now time.Time) cluster.Class {
	out := translate.Class(c, facts, market, rooms, overhead)
	images := make([]string, len(c.Status.AMIs))
	for i := range c.Status.AMIs {
		images[i] = c.Status.AMIs[i].ID
	}
	out.Types = catalog.AsReported(out.Types, reports.Of(c.Name, drift.ClassHash(c), images, now))
	return out
}

// learn notes what the node has reported, as soon as its kubelet has: plans count on it
// from then on, too. A node that was not made by what its NodeClaim's annotations say tells
// nothing about the next one.
func (w *World) learn(n *corev1.Node) {
	if n == nil || n.Spec.ProviderID == "" || n.Status.Allocatable.Cpu().IsZero() {
		return
	}
	c := w.objects.claims[w.claimOf[instanceOf(n.Spec.ProviderID)]]
	if c == nil || c.Annotations[awsv1.AnnotationNodeClassHashVersion] != drift.Version || c.Status.ImageID == "" || c.Labels[label.InstanceType] == "" {
		return
	}
	of := catalog.Origin{Class: c.Spec.NodeClassRef.Name, Spec: c.Annotations[awsv1.AnnotationNodeClassHash], Image: c.Status.ImageID}
	instanceType, has := c.Labels[label.InstanceType], translate.Resources(n.Status.Allocatable)
	next, changed := w.reports.With(of, instanceType, n.Name, has, w.now())
	next, devices := next.WithDevices(of, instanceType, catalog.Machine{
		Node: n.Name, Joined: n.CreationTimestamp.Time, Has: has, Listed: asked(c),
	}, w.now())
	if changed || devices {
		w.reports, w.reported = next, w.reported+1
		w.touchClass(of.Class)
	}
}

// asked returns the extended resources of the NodeClaim that it was made for. What its
// type has beside, as branch interfaces and EFA, nodes report only with the plugins for it.
func asked(c *v1.NodeClaim) quantity.Resources {
	has, want := translate.Resources(c.Status.Capacity), translate.Resources(c.Spec.Resources.Requests)
	has.Extended = pick.Those(has.Extended, func(a quantity.Amount) bool { return want.Get(a.Name) > 0 })
	return has
}

// Reports returns what nodes have reported, and how often that has changed.
func (w *World) Reports() (all catalog.Reports, changes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reports, w.reported
}

// Recall adds what nodes have reported to a daemon before this one.
func (w *World) Recall(reports catalog.Reports) {
	w.mu.Lock()
	w.reports, w.reported = w.reports.Merge(reports), w.reported+1
	for name := range w.objects.classes {
		w.touchClass(name)
	}
	subscriber := w.subscriber
	w.mu.Unlock()
	w.notify(concern{}, subscriber)
}
