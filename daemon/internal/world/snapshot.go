package world

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Snapshot makes the decision core's view of all that is known now. NodeClaims
// that cannot be understood are left out and named in the second result; the
// others are not held up by them.
func (w *World) Snapshot() (cluster.Snapshot, []error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var o cluster.Objects
	var faults []error
	for _, p := range w.words.pods {
		o.Pods = append(o.Pods, p)
	}
	for _, n := range w.nodes {
		o.Nodes = append(o.Nodes, translate.Node(n, w.claimOf[n.Spec.ProviderID], nil, nil))
	}
	for _, c := range w.claims {
		word, err := translate.Claim(c)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if name, up := w.nodeOf[c.Status.ProviderID]; up && c.Status.ProviderID != "" {
			word.Node = name
		}
		o.Claims = append(o.Claims, word)
	}
	for _, p := range w.pools {
		o.Pools = append(o.Pools, translate.Pool(p))
	}
	for name, c := range w.classes {
		word, ok := w.words.classes[name]
		if !ok {
			word = translate.Class(c, w.facts, w.market)
			w.words.classes[name] = word
		}
		o.Classes = append(o.Classes, word)
	}
	for _, d := range w.daemonSets {
		o.DaemonSets = append(o.DaemonSets, translate.DaemonSet(d, maps.Values(w.podsOwned[d.UID]), translate.Lookups{}))
	}
	for _, r := range w.replicaSets {
		if word, ok := translate.ReplicaSet(r, maps.Values(w.podsOwned[r.UID]), translate.Lookups{}); ok {
			o.Workloads = append(o.Workloads, word)
		}
	}
	s, err := cluster.New(o)
	if err != nil {
		return cluster.Snapshot{}, faults, fmt.Errorf("world snapshot: %w", err)
	}
	return s, faults, nil
}

// NodeClaim returns the newest known version; it must not be changed.
func (w *World) NodeClaim(name string) (*v1.NodeClaim, bool) { return get(w, w.claims, name) }

// NodePool returns the newest known version; it must not be changed.
func (w *World) NodePool(name string) (*v1.NodePool, bool) { return get(w, w.pools, name) }

// EC2NodeClass returns the newest known version; it must not be changed.
func (w *World) EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool) { return get(w, w.classes, name) }

// Node returns the newest known version; it must not be changed.
func (w *World) Node(name string) (*corev1.Node, bool) { return get(w, w.nodes, name) }

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
	n, ok := w.nodes[w.nodeOf[providerID]]
	return n, ok && providerID != ""
}

// NodeClaims returns the newest known versions, in no order.
func (w *World) NodeClaims() []*v1.NodeClaim { return all(w, w.claims) }

// NodePools returns the newest known versions, in no order.
func (w *World) NodePools() []*v1.NodePool { return all(w, w.pools) }

// EC2NodeClasses returns the newest known versions, in no order.
func (w *World) EC2NodeClasses() []*awsv1.EC2NodeClass { return all(w, w.classes) }

func all[T any](w *World, m map[string]T) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]T, 0, len(m))
	for _, o := range m {
		out = append(out, o)
	}
	return out
}

// TypesOf returns the class as the decision core sees it.
func (w *World) TypesOf(class string) (cluster.Class, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if word, ok := w.words.classes[class]; ok {
		return word, true
	}
	c, ok := w.classes[class]
	if !ok {
		return cluster.Class{}, false
	}
	word := translate.Class(c, w.facts, w.market)
	w.words.classes[class] = word
	return word, true
}
