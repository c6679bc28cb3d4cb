package world

import (
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

// Snapshot makes the decision core's view of all that is known now. Its cost
// goes by what changed since the last. Objects that cannot be understood are
// left out and named in the second result; the others are not held up by them.
func (w *World) Snapshot() (cluster.Snapshot, []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.words
	var d cluster.Delta
	for word := range s.stale {
		w.read(word, &d)
	}
	if next, err := s.snapshot.Apply(d); err == nil {
		s.snapshot = next
		clear(s.stale)
	}
	w.applyEach()
	faults := slices.Collect(maps.Values(s.faults))
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s.snapshot, faults
}

// applyEach applies one by one what is still stale, for one of them is at odds
// with the rest, and what was left out before. Each may make room for another.
// What stays at odds is left out, and tried again with every snapshot.
func (w *World) applyEach() {
	s := &w.words
	maps.Copy(s.stale, s.atOdds)
	for again := true; again; {
		again = false
		for word := range s.stale {
			if w.apply(word) {
				delete(s.stale, word)
				again = true
			}
		}
	}
	s.stale, s.atOdds = s.atOdds, s.stale
	clear(s.stale)
}

// apply applies the word, or leaves it out and returns false.
func (w *World) apply(word ref) bool {
	s := &w.words
	var one cluster.Delta
	w.read(word, &one)
	next, err := s.snapshot.Apply(one)
	if err == nil {
		s.snapshot = next
		return true
	}
	s.faults[word] = fmt.Errorf("world snapshot: %w", err)
	if next, err = s.snapshot.Apply(cluster.Delta{Gone: gone(word)}); err == nil {
		s.snapshot = next
	}
	return false
}

// read adds the word's newest meaning to the delta.
func (w *World) read(word ref, d *cluster.Delta) {
	s := &w.words
	s.begin(word)
	delete(s.faults, word)
	switch word.kind {
	case podKind:
		if p, ok := w.objects.pods[word.name]; ok {
			if x, ok := translate.Pod(p, s.lookups); ok {
				d.Put.Pods = append(d.Put.Pods, x)
				return
			}
		}
	case nodeKind:
		if n, ok := w.objects.nodes[word.name]; ok {
			d.Put.Nodes = append(d.Put.Nodes, translate.Node(n, w.claimOf[n.Spec.ProviderID], w.objects.csiNodes[n.Name], s.drivers))
			return
		}
	case claimKind:
		if x, ok := w.readClaim(word); ok {
			d.Put.Claims = append(d.Put.Claims, x)
			return
		}
	case poolKind:
		if p, ok := w.objects.pools[word.name]; ok {
			d.Put.Pools = append(d.Put.Pools, translate.Pool(p))
			return
		}
	case classKind:
		if x, ok := w.typesOf(word.name); ok {
			d.Put.Classes = append(d.Put.Classes, x)
			return
		}
	case daemonSetKind:
		if x, ok := w.objects.daemonSets[word.name]; ok {
			d.Put.DaemonSets = append(d.Put.DaemonSets, translate.DaemonSet(x, maps.Values(w.podsOwned[x.UID]), s.lookups))
			return
		}
	case replicaSetKind, statefulSetKind, jobKind:
		if x, ok := w.readWorkload(word); ok {
			d.Put.Workloads = append(d.Put.Workloads, x)
			return
		}
	case namespaceKind:
		if n, ok := w.objects.namespaces[word.name]; ok {
			d.Put.Namespaces = append(d.Put.Namespaces, translate.Namespace(n))
			return
		}
	case volumeClaimKind, volumeKind, storageClassKind, limitRangeKind, serviceKind, driverKind, priorityClassKind, runtimeClassKind, replicationKind: // are no words
	}
	add(&d.Gone, gone(word))
}

func gone(word ref) cluster.Gone {
	names := []string{word.name}
	switch word.kind {
	case podKind:
		return cluster.Gone{Pods: names}
	case nodeKind:
		return cluster.Gone{Nodes: names}
	case claimKind:
		return cluster.Gone{Claims: names}
	case poolKind:
		return cluster.Gone{Pools: names}
	case classKind:
		return cluster.Gone{Classes: names}
	case daemonSetKind:
		return cluster.Gone{DaemonSets: names}
	case replicaSetKind:
		return cluster.Gone{Workloads: []string{"ReplicaSet/" + word.name}}
	case statefulSetKind:
		return cluster.Gone{Workloads: []string{"StatefulSet/" + word.name}}
	case jobKind:
		return cluster.Gone{Workloads: []string{"Job/" + word.name}}
	case namespaceKind:
		return cluster.Gone{Namespaces: names}
	case volumeClaimKind, volumeKind, storageClassKind, limitRangeKind, serviceKind, driverKind, priorityClassKind, runtimeClassKind, replicationKind: // are no words
	}
	return cluster.Gone{}
}

func add(all *cluster.Gone, one cluster.Gone) {
	all.Pods = append(all.Pods, one.Pods...)
	all.Nodes = append(all.Nodes, one.Nodes...)
	all.Claims = append(all.Claims, one.Claims...)
	all.Pools = append(all.Pools, one.Pools...)
	all.Classes = append(all.Classes, one.Classes...)
	all.DaemonSets = append(all.DaemonSets, one.DaemonSets...)
	all.Workloads = append(all.Workloads, one.Workloads...)
	all.Namespaces = append(all.Namespaces, one.Namespaces...)
}

func (w *World) readClaim(word ref) (cluster.Claim, bool) {
	c, ok := w.objects.claims[word.name]
	if !ok {
		return cluster.Claim{}, false
	}
	x, err := translate.Claim(c)
	if err != nil {
		w.words.faults[word] = err
		return cluster.Claim{}, false
	}
	if name, up := w.nodeOf[c.Status.ProviderID]; up && c.Status.ProviderID != "" {
		x.Node = name
	}
	return x, true
}

func (w *World) readWorkload(word ref) (cluster.Workload, bool) {
	switch word.kind {
	case replicaSetKind:
		if r, ok := w.objects.replicaSets[word.name]; ok {
			return translate.ReplicaSet(r, maps.Values(w.podsOwned[r.UID]), w.words.lookups)
		}
	case statefulSetKind:
		if s, ok := w.objects.statefulSets[word.name]; ok {
			return translate.StatefulSet(s, maps.Values(w.podsOwned[s.UID]), w.words.lookups)
		}
	default:
		if j, ok := w.objects.jobs[word.name]; ok {
			return translate.Job(j, maps.Values(w.podsOwned[j.UID]), w.words.lookups)
		}
	}
	return cluster.Workload{}, false
}

// typesOf reads the class once for each of its versions.
func (w *World) typesOf(class string) (cluster.Class, bool) {
	if x, ok := w.words.classes[class]; ok {
		return x, true
	}
	c, ok := w.objects.classes[class]
	if !ok {
		return cluster.Class{}, false
	}
	x := translate.Class(c, w.facts, w.market, w.words.rooms)
	w.words.classes[class] = x
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

// NodeClaims returns the newest known versions, in no order.
func (w *World) NodeClaims() []*v1.NodeClaim { return all(w, w.objects.claims) }

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
