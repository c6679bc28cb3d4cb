package world

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// A Node and a NodeClaim with the same provider id belong together, in whatever
// order they become known. The translation of each has the other's name.

func (w *World) putNode(n *corev1.Node) []string {
	old := w.objects.nodes[n.Name]
	if !store(w.objects.nodes, n.Name, n) {
		return nil
	}
	w.unlinkNode(old)
	if id := n.Spec.ProviderID; id != "" {
		w.nodeOf[id] = n.Name
	}
	w.touchNode(n)
	w.learn(n)
	return w.claimsOfNode(n)
}

func (w *World) removeNode(n *corev1.Node) []string {
	if known := w.objects.nodes[n.Name]; drop(w, w.objects.nodes, ref{nodeKind, n.Name}, n) {
		w.unlinkNode(known)
	}
	return w.claimsOfNode(n)
}

func (w *World) unlinkNode(n *corev1.Node) {
	if n == nil {
		return
	}
	w.touchNode(n)
	if w.nodeOf[n.Spec.ProviderID] == n.Name {
		delete(w.nodeOf, n.Spec.ProviderID)
	}
}

func (w *World) touchNode(n *corev1.Node) {
	w.translations.touch(ref{nodeKind, n.Name})
	for _, claim := range w.claimsOfNode(n) {
		w.translations.touch(ref{claimKind, claim})
	}
}

func (w *World) putClaim(c *v1.NodeClaim) {
	old := w.objects.claims[c.Name]
	if !store(w.objects.claims, c.Name, c) {
		return
	}
	w.unlinkClaim(old)
	if id := instanceOf(c.Status.ProviderID); id != "" {
		w.claimOf[id] = c.Name
	}
	w.touchClaim(c)
	w.learn(w.objects.nodes[w.nodeOf[c.Status.ProviderID]])
}

func (w *World) removeClaim(c *v1.NodeClaim) {
	if known := w.objects.claims[c.Name]; drop(w, w.objects.claims, ref{claimKind, c.Name}, c) {
		w.unlinkClaim(known)
	}
}

func (w *World) unlinkClaim(c *v1.NodeClaim) {
	if c == nil {
		return
	}
	w.touchClaim(c)
	if id := instanceOf(c.Status.ProviderID); w.claimOf[id] == c.Name {
		delete(w.claimOf, id)
	}
}

func (w *World) touchClaim(c *v1.NodeClaim) {
	w.translations.touch(ref{claimKind, c.Name})
	if node, up := w.nodeOf[c.Status.ProviderID]; up {
		w.translations.touch(ref{nodeKind, node})
	}
}

func (w *World) touchClass(name string) {
	delete(w.translations.classes, name)
	w.translations.touch(ref{classKind, name})
}

// learnDrivers notes the CSI drivers that limit how many volumes a node can attach.
// As soon as one node has a limit for a driver, the driver's volumes are counted
// on all nodes.
func (w *World) learnDrivers(c *storagev1.CSINode) {
	grown := false
	for driver := range translate.AttachLimits(c) {
		if i, known := slices.BinarySearch(w.translations.drivers, driver); !known {
			w.translations.drivers = slices.Insert(slices.Clone(w.translations.drivers), i, driver)
			w.translations.touch(ref{driverKind, driver})
			grown = true
		}
	}
	if !grown {
		return
	}
	for name := range w.objects.nodes {
		w.translations.touch(ref{nodeKind, name})
	}
}

// instanceOf is the id of the instance that the provider id names.
func instanceOf(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// claimsOfNode returns the node's NodeClaim, if there is one.
func (w *World) claimsOfNode(n *corev1.Node) []string {
	if n == nil || n.Spec.ProviderID == "" {
		return nil
	}
	if name, ok := w.claimOf[instanceOf(n.Spec.ProviderID)]; ok {
		return []string{name}
	}
	return nil
}

// unlaunched lists the NodeClaims of the class that have no instance yet.
func (w *World) unlaunched(class string) []string {
	var out []string
	for name, c := range w.objects.claims {
		if c.Status.ProviderID == "" && c.Spec.NodeClassRef.Name == class {
			out = append(out, name)
		}
	}
	return out
}
