package world

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func (w *World) putPod(p *translate.CompactPod) []string {
	k := key(p)
	old := w.objects.pods[k]
	if !store(w.objects.pods, k, p) {
		return nil
	}
	w.unindexPod(old)
	if old != nil && old.UID != p.UID {
		delete(w.seen, old.UID)
	}
	w.touchPod(p)
	if p.Node() != "" {
		index(w.podsOn, p.Node(), k, p)
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		index(w.podsOwned, ref.UID, k, p)
	}
	whole := w.whole(p)
	for claim := range claimsUsed(whole) {
		index(w.podsUsing, claim, k, p)
		w.translations.touch(ref{claimUsersKind, claim})
	}
	waits := p.Node() == "" && translate.Ours(whole)
	if _, known := w.seen[p.UID]; waits && !known {
		w.seen[p.UID] = w.now()
	} else if !waits {
		delete(w.seen, p.UID)
	}
	concerned := w.claimsOfNode(w.objects.nodes[p.Node()])
	if old != nil && old.Node() != "" && old.Node() != p.Node() { // another pod of the name, after a watch began anew
		concerned = append(concerned, w.claimsOfNode(w.objects.nodes[old.Node()])...)
	}
	return concerned
}

func (w *World) removePod(p *translate.CompactPod) []string {
	if known := w.objects.pods[key(p)]; drop(w, w.objects.pods, ref{podKind, key(p)}, p) {
		w.unindexPod(known)
		delete(w.seen, p.UID)
	}
	return w.claimsOfNode(w.objects.nodes[p.Node()])
}

// touchPod marks the translation of the pod as stale, and that of its controller,
// which counts its pods.
func (w *World) touchPod(p *translate.CompactPod) {
	w.translations.touch(ref{podKind, key(p)})
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		if controller, known := w.objects.controllers[owner.UID]; known {
			w.translations.touch(controller)
		}
	}
}

func (w *World) unindexPod(old *translate.CompactPod) {
	if old == nil {
		return
	}
	w.touchPod(old)
	k := key(old)
	unindex(w.podsOn, old.Node(), k)
	if ref := metav1.GetControllerOfNoCopy(old); ref != nil {
		unindex(w.podsOwned, ref.UID, k)
	}
	for claim := range claimsUsed(w.whole(old)) {
		unindex(w.podsUsing, claim, k)
		w.translations.touch(ref{claimUsersKind, claim})
	}
}

func index[K comparable](m map[K]map[string]*translate.CompactPod, by K, k string, p *translate.CompactPod) {
	if m[by] == nil {
		m[by] = map[string]*translate.CompactPod{}
	}
	m[by][k] = p
}

func unindex[K comparable](m map[K]map[string]*translate.CompactPod, by K, k string) {
	delete(m[by], k)
	if len(m[by]) == 0 {
		delete(m, by)
	}
}

// WaitingSince returns when the daemon first saw that the pod (namespace/name)
// waits for a node.
func (w *World) WaitingSince(pod string) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.objects.pods[pod]
	if !ok {
		return time.Time{}, false
	}
	t, ok := w.seen[p.UID]
	return t, ok
}

// PodsOn returns the pods bound to the node, finished pods included, in no order.
func (w *World) PodsOn(node string) []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*corev1.Pod, 0, len(w.podsOn[node]))
	for _, p := range w.podsOn[node] {
		out = append(out, p.Pod())
	}
	return out
}

// EachPodOn calls do with the same pods. All are one variable, which do must not keep. It is for
// who looks at every pod of the cluster often.
func (w *World) EachPodOn(node string, do func(*corev1.Pod)) {
	w.mu.Lock()
	kept := slices.Collect(maps.Values(w.podsOn[node]))
	w.mu.Unlock()
	for p := range translate.PodsOf(slices.Values(kept)) {
		do(p)
	}
}

// whole returns the pod, in a variable that holds it until the next one is asked for.
func (w *World) whole(p *translate.CompactPod) *corev1.Pod {
	p.Read(&w.latest)
	return &w.latest
}

// ownedBy returns the pods of a controller. All are one variable, one after the other.
func (w *World) ownedBy(controller types.UID) translate.Pods {
	return translate.PodsOf(maps.Values(w.podsOwned[controller]))
}
