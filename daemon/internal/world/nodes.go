package world

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if old != nil && old.Spec.ProviderID != n.Spec.ProviderID {
		w.unlinkNode(old)
	}
	w.linkNode(n)
	for _, owner := range n.OwnerReferences {
		if c := w.objects.claims[owner.Name]; c != nil && c.UID == owner.UID && lostInstance(c) {
			w.linkClaim(c, w.withInstance(c, nil))
		}
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

// linkNode notes that the Node says that it is the instance of its provider id. Several Nodes say
// so where a machine has joined again under another name; see elect.
func (w *World) linkNode(n *corev1.Node) {
	id := n.Spec.ProviderID
	first, known := w.nodeOf[id]
	switch {
	case id == "":
	case !known:
		w.nodeOf[id] = n.Name
	case first != n.Name:
		if w.twins[id] == nil {
			w.twins[id] = map[string]bool{first: true}
		}
		w.twins[id][n.Name] = true
	}
	w.elect(id)
}

func (w *World) unlinkNode(n *corev1.Node) {
	if n == nil {
		return
	}
	w.touchNode(n)
	id := n.Spec.ProviderID
	if w.nodeOf[id] == n.Name {
		delete(w.nodeOf, id)
	}
	if delete(w.twins[id], n.Name); w.twins[id] != nil {
		w.elect(id)
	}
	if len(w.twins[id]) < 2 {
		delete(w.twins, id)
	}
}

// elect chooses the Node of an instance that several Nodes say that they are: one that nobody has
// deleted before others, then one that is Ready, then the oldest. The others have no NodeClaim.
func (w *World) elect(id string) {
	if w.twins[id] == nil {
		return
	}
	var best *corev1.Node
	for name := range w.twins[id] {
		if n, there := w.objects.nodes[name]; there && (best == nil || better(n, best)) {
			best = n
		}
	}
	if best == nil || w.nodeOf[id] == best.Name {
		return
	}
	w.nodeOf[id] = best.Name
	for name := range w.twins[id] {
		w.translations.touch(ref{nodeKind, name})
	}
	w.touchNode(best)
}

// better orders the Nodes of one instance.
func better(a, b *corev1.Node) bool {
	if a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero() {
		return a.DeletionTimestamp.IsZero()
	}
	if x, y := translate.NodeReady(a), translate.NodeReady(b); x != y {
		return x
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
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
	if lostInstance(c) {
		c = w.withInstance(c, old)
	}
	w.linkClaim(old, c)
}

// linkClaim stores the NodeClaim in place of the old version, which may be nil.
func (w *World) linkClaim(old, c *v1.NodeClaim) {
	w.objects.claims[c.Name] = c
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

// lostInstance says whether the NodeClaim does not say which instance it has, because it
// cannot be read.
func lostInstance(c *v1.NodeClaim) bool { return c.Status.ProviderID == "" && c.Unread.In("status") }

// withInstance returns the NodeClaim with the instance that an older version names, or the
// Node that belongs to the NodeClaim: else the Node would be one without a NodeClaim.
func (w *World) withInstance(c, old *v1.NodeClaim) *v1.NodeClaim {
	var provider, node string
	if old != nil && old.UID == c.UID {
		provider, node = old.Status.ProviderID, old.Status.NodeName
	}
	for _, n := range w.objects.nodes {
		if provider == "" && slices.ContainsFunc(n.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == c.UID }) {
			provider, node = n.Spec.ProviderID, n.Name
		}
	}
	if provider == "" {
		return c
	}
	c = c.DeepCopy()
	c.Status.ProviderID, c.Status.NodeName = provider, node
	return c
}
