// Package remark tells users of annotations by which pods and nodes opt out of disruption
// and which cannot be read, or are of an older API. It decides nothing: package translate
// says what the annotations mean.
//
// Invariants: each object gets an Event for a remark once, however often the objects are
// looked at, and again only after the daemon has started anew or the remark has changed;
// at most AtOnce objects get one at each look, the others at the next.
package remark

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// Every is how often the objects are looked at.
	Every = 10 * time.Second
	// AtOnce bounds the Events of one look, in objects.
	AtOnce = 50
)

// World has the objects.
type World interface {
	NodeClaims() []*v1.NodeClaim
	NodeOf(providerID string) (*corev1.Node, bool)
	PodsOn(node string) []*corev1.Pod
}

// Recorder sends the Events.
type Recorder interface {
	Remark(object *corev1.ObjectReference, r translate.Remark)
}

// Teller tells users once. One goroutine uses it.
type Teller struct {
	World    World
	Recorder Recorder

	told map[types.UID][]translate.Remark
}

// Look looks at the nodes of NodeClaims and at the pods on them.
func (t *Teller) Look(context.Context, time.Time) error {
	before, sent := t.told, 0
	t.told = map[types.UID][]translate.Remark{}
	tell := func(kind, namespace, name string, uid, refers types.UID, list []translate.Remark) {
		if len(list) == 0 {
			return
		}
		if slices.Equal(before[uid], list) {
			t.told[uid] = list
			return
		}
		if sent == AtOnce {
			return
		}
		sent++
		t.told[uid] = list
		for _, r := range list {
			t.Recorder.Remark(&corev1.ObjectReference{Kind: kind, APIVersion: "v1", Namespace: namespace, Name: name, UID: refers}, r)
		}
	}
	for _, c := range t.World.NodeClaims() {
		n, up := t.World.NodeOf(c.Status.ProviderID)
		if !up {
			continue
		}
		// Events refer to nodes as the kubelet does, so that kubectl finds them.
		tell("Node", "", n.Name, cmp.Or(n.UID, types.UID(n.Name)), types.UID(n.Name), translate.NodeRemarks(n))
		for _, p := range t.World.PodsOn(n.Name) {
			if translate.Ours(p) {
				tell("Pod", p.Namespace, p.Name, p.UID, p.UID, translate.PodRemarks(p))
			}
		}
	}
	return nil
}
