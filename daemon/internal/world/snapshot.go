package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Snapshot returns the decision core's view of all objects. Its cost depends only
// on what changed since the last one. An object that cannot be translated, or that
// conflicts with another object, is left out. The second result names these objects.
func (w *World) Snapshot() (cluster.Snapshot, []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.translations
	var d cluster.Delta
	pods := 0 // at first these are all pods, and a list that grows takes several times its memory
	for r := range t.stale {
		if r.kind == podKind {
			pods++
		}
	}
	d.Put.Pods = make([]cluster.Pod, 0, pods)
	for r := range t.stale {
		w.read(r, &d)
	}
	if next, err := t.snapshot.Apply(d); err == nil {
		t.snapshot = next
		t.stale = map[ref]struct{}{} // at first it has every object, and a map never shrinks
	}
	w.applyEach()
	faults := slices.Collect(maps.Values(t.faults))
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return t.snapshot, faults
}

// applyEach applies the remaining stale translations one by one, because one of them
// conflicts with another. It also tries those that were left out before. One that is
// applied may end the conflict of another, so it repeats until nothing more can be
// applied. The rest is left out until the next Snapshot.
func (w *World) applyEach() {
	t := &w.translations
	maps.Copy(t.stale, t.conflicting)
	for again := true; again; {
		again = false
		for r := range t.stale {
			if w.apply(r) {
				delete(t.stale, r)
				again = true
			}
		}
	}
	t.stale, t.conflicting = t.conflicting, t.stale
	clear(t.stale)
}

// apply applies the translation. If that conflicts with the snapshot, it leaves out
// the object and returns false.
func (w *World) apply(r ref) bool {
	t := &w.translations
	var one cluster.Delta
	w.read(r, &one)
	next, err := t.snapshot.Apply(one)
	if err == nil {
		t.snapshot = next
		return true
	}
	t.faults[r] = fmt.Errorf("world snapshot: %w", err)
	if next, err = t.snapshot.Apply(cluster.Delta{Removed: gone(r)}); err == nil {
		t.snapshot = next
	}
	return false
}

// read adds the translation of the newest version to the delta.
func (w *World) read(r ref, d *cluster.Delta) {
	t := &w.translations
	t.begin(r)
	delete(t.faults, r)
	switch r.kind {
	case podKind:
		if p, ok := w.objects.pods[r.name]; ok {
			if x, ok := translate.Pod(w.whole(p), t.lookups); ok {
				t.alike.share(p.Labels, &x)
				d.Put.Pods = append(d.Put.Pods, x)
				return
			}
		}
	case nodeKind:
		if n, ok := w.objects.nodes[r.name]; ok {
			d.Put.Nodes = append(d.Put.Nodes, w.readNode(n))
			return
		}
	case claimKind:
		if x, ok := w.readClaim(r); ok {
			d.Put.Claims = append(d.Put.Claims, x)
			return
		}
	case poolKind:
		if p, ok := w.objects.pools[r.name]; ok {
			d.Put.Pools = append(d.Put.Pools, w.readPool(p))
			return
		}
	case classKind:
		if x, ok := w.typesOf(r.name); ok {
			d.Put.Classes = append(d.Put.Classes, x)
			return
		}
	case daemonSetKind:
		if x, ok := w.objects.daemonSets[r.name]; ok {
			d.Put.DaemonSets = append(d.Put.DaemonSets, translate.DaemonSet(x, w.ownedBy(x.UID), t.lookups))
			return
		}
	case replicaSetKind, statefulSetKind, jobKind:
		if x, ok := w.readWorkload(r); ok {
			d.Put.Workloads = append(d.Put.Workloads, x)
			return
		}
	case namespaceKind:
		if n, ok := w.objects.namespaces[r.name]; ok {
			d.Put.Namespaces = append(d.Put.Namespaces, translate.Namespace(n))
			return
		}
	case podBudgetKind:
		if b, ok := w.objects.podBudgets[r.name]; ok {
			x, err := translate.PodBudget(b)
			if err != nil {
				t.faults[r] = err
			}
			d.Put.PodBudgets = append(d.Put.PodBudgets, x)
			return
		}
	case volumeClaimKind, volumeKind, storageClassKind, limitRangeKind, serviceKind, driverKind, priorityClassKind, runtimeClassKind, replicationKind, freeVolumesKind, claimUsersKind: // only used by translations
	}
	add(&d.Removed, gone(r))
}

func gone(r ref) cluster.Removed {
	names := []string{r.name}
	switch r.kind {
	case podKind:
		return cluster.Removed{Pods: names}
	case nodeKind:
		return cluster.Removed{Nodes: names}
	case claimKind:
		return cluster.Removed{Claims: names}
	case poolKind:
		return cluster.Removed{Pools: names}
	case classKind:
		return cluster.Removed{Classes: names}
	case daemonSetKind:
		return cluster.Removed{DaemonSets: names}
	case replicaSetKind:
		return cluster.Removed{Workloads: []string{"ReplicaSet/" + r.name}}
	case statefulSetKind:
		return cluster.Removed{Workloads: []string{"StatefulSet/" + r.name}}
	case jobKind:
		return cluster.Removed{Workloads: []string{"Job/" + r.name}}
	case namespaceKind:
		return cluster.Removed{Namespaces: names}
	case podBudgetKind:
		return cluster.Removed{PodBudgets: names}
	case volumeClaimKind, volumeKind, storageClassKind, limitRangeKind, serviceKind, driverKind, priorityClassKind, runtimeClassKind, replicationKind, freeVolumesKind, claimUsersKind: // only used by translations
	}
	return cluster.Removed{}
}

func add(all *cluster.Removed, one cluster.Removed) {
	all.Pods = append(all.Pods, one.Pods...)
	all.Nodes = append(all.Nodes, one.Nodes...)
	all.Claims = append(all.Claims, one.Claims...)
	all.Pools = append(all.Pools, one.Pools...)
	all.Classes = append(all.Classes, one.Classes...)
	all.DaemonSets = append(all.DaemonSets, one.DaemonSets...)
	all.Workloads = append(all.Workloads, one.Workloads...)
	all.Namespaces = append(all.Namespaces, one.Namespaces...)
	all.PodBudgets = append(all.PodBudgets, one.PodBudgets...)
}

// readNode reads the Node. It stays while its NodeClaim cannot be read: nobody knows what
// that asks for.
func (w *World) readNode(n *corev1.Node) cluster.Node {
	claim := ""
	if w.nodeOf[n.Spec.ProviderID] == n.Name {
		claim = w.claimOf[instanceOf(n.Spec.ProviderID)]
	}
	x := translate.Node(n, claim, w.objects.csiNodes[n.Name], w.translations.drivers)
	if c := w.objects.claims[x.Claim]; c != nil && c.Unread != "" {
		x.DoNotDisrupt = true
	}
	return x
}

// readPool reads the NodePool. It is not ready while its class cannot be read: a node that
// was deleted could not come back.
func (w *World) readPool(p *v1.NodePool) cluster.Pool {
	x := translate.Pool(p)
	if c, known := find(w, w.objects.classes, ref{classKind, x.Class}); known && c.Unread != "" && x.Ready {
		x.Ready, x.NotReady = false, translate.RefusedClass(c)
	}
	return x
}

func (w *World) readClaim(r ref) (cluster.Claim, bool) {
	c, ok := w.objects.claims[r.name]
	if !ok {
		return cluster.Claim{}, false
	}
	x, err := translate.Claim(c)
	if err != nil {
		w.translations.faults[r] = err
		return cluster.Claim{}, false
	}
	_, move := translate.MoveOf(c)
	_, interruption := translate.InterruptionOf(c)
	if err := errors.Join(move, interruption); err != nil {
		w.translations.faults[r] = err
	}
	if p := w.objects.pools[x.Pool]; live(p) {
		x.ExpiresAt = translate.ExpiresWith(p, c)
	}
	if name, up := w.nodeOf[c.Status.ProviderID]; up && c.Status.ProviderID != "" {
		x.Node = name
	}
	return x, true
}

func (w *World) readWorkload(r ref) (cluster.Workload, bool) {
	switch r.kind {
	case replicaSetKind:
		if x, ok := w.objects.replicaSets[r.name]; ok {
			return translate.ReplicaSet(x, w.ownedBy(x.UID), w.translations.lookups)
		}
	case statefulSetKind:
		if x, ok := w.objects.statefulSets[r.name]; ok {
			return translate.StatefulSet(x, w.ownedBy(x.UID), w.translations.lookups)
		}
	default:
		if x, ok := w.objects.jobs[r.name]; ok {
			return translate.Job(x, w.ownedBy(x.UID), w.translations.lookups)
		}
	}
	return cluster.Workload{}, false
}

// typesOf translates the class once for each of its versions.
func (w *World) typesOf(class string) (cluster.Class, bool) {
	if x, ok := w.translations.classes[class]; ok {
		return x, true
	}
	c, ok := w.objects.classes[class]
	if !ok {
		return cluster.Class{}, false
	}
	x := viewOf(c, w.facts, w.market, w.translations.rooms, w.reports, w.overhead, w.now())
	w.translations.classes[class] = x
	return x, true
}

// TypesOf returns the class as the decision core sees it.
func (w *World) TypesOf(class string) (cluster.Class, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.typesOf(class)
}

// NodeClaim returns the newest known version; it must not be changed.
func (w *World) NodeClaim(name string) (*v1.NodeClaim, bool) { return get(w, w.objects.claims, name) }

// NodePool returns the newest known version; it must not be changed.
func (w *World) NodePool(name string) (*v1.NodePool, bool) { return get(w, w.objects.pools, name) }

// EC2NodeClass returns the newest known version; it must not be changed.
func (w *World) EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool) {
	return get(w, w.objects.classes, name)
}

// Node returns the newest known version; it must not be changed.
func (w *World) Node(name string) (*corev1.Node, bool) { return get(w, w.objects.nodes, name) }

// Pod returns the newest known version of the pod (namespace/name); it must not be changed.
func (w *World) Pod(id string) (*corev1.Pod, bool) {
	p, ok := get(w, w.objects.pods, id)
	if !ok {
		return nil, false
	}
	return p.Pod(), true
}

func get[T any](w *World, m map[string]T, name string) (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := m[name]
	return o, ok
}

// NodeOf returns the Node with this provider id.
func (w *World) NodeOf(providerID string) (*corev1.Node, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.objects.nodes[w.nodeOf[providerID]]
	return n, ok && providerID != ""
}

// NodesOf returns the Nodes with this provider id: the one that NodeOf returns first, then others
// under which the machine has joined, by name.
func (w *World) NodesOf(providerID string) []*corev1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, there := w.objects.nodes[w.nodeOf[providerID]]
	if !there || providerID == "" {
		return nil
	}
	out := []*corev1.Node{first}
	for _, name := range slices.Sorted(maps.Keys(w.twins[providerID])) {
		if n, there := w.objects.nodes[name]; there && name != first.Name {
			out = append(out, n)
		}
	}
	return out
}

// NodeClaimOf returns the NodeClaim of the instance.
func (w *World) NodeClaimOf(instanceID string) (*v1.NodeClaim, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.objects.claims[w.claimOf[instanceID]]
	return c, ok
}

// NodeClaims returns the newest known versions, in no order.
func (w *World) NodeClaims() []*v1.NodeClaim { return all(w, w.objects.claims) }

// Nodes returns the newest known versions, in no order.
func (w *World) Nodes() []*corev1.Node { return all(w, w.objects.nodes) }

// NodePools returns the newest known versions, in no order.
func (w *World) NodePools() []*v1.NodePool { return all(w, w.objects.pools) }

// EC2NodeClasses returns the newest known versions, in no order.
func (w *World) EC2NodeClasses() []*awsv1.EC2NodeClass { return all(w, w.objects.classes) }

func all[T any](w *World, m map[string]T) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]T, 0, len(m))
	for _, o := range m {
		out = append(out, o)
	}
	return out
}
