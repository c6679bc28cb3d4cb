// Package remark tells users of objects of the daemon's kinds that cannot be read, of keys in
// templates of NodePools that are the daemon's own, of annotations by which pods and
// nodes opt out of disruption and which cannot be read, or are of an older API, and of
// objects that Karpenter carries out and the daemon does not. It decides nothing: package
// translate says what the objects mean.
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
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
	NodePools() []*v1.NodePool
	EC2NodeClasses() []*awsv1.EC2NodeClass
	NodeClaims() []*v1.NodeClaim
	NodeOf(providerID string) (*corev1.Node, bool)
	EachPodOn(node string, do func(*corev1.Pod))
}

// Recorder sends the Events, and counts objects that cannot be read by kind.
type Recorder interface {
	UnreadCounted(byKind map[string]int)
	Remark(object *corev1.ObjectReference, r translate.Remark)
}

// Other is an object that no other part of the daemon knows, with what there is to say of it.
type Other struct {
	Object corev1.ObjectReference
	Remark translate.Remark
}

// Teller tells users once. One goroutine uses it.
type Teller struct {
	World    World
	Recorder Recorder
	// Others lists further objects, always in the same order; may be nil.
	Others func() []Other

	told map[types.UID][]translate.Remark
}

// Look looks at the objects of the daemon's kinds, at others, at the nodes of NodeClaims and at
// the pods on them.
func (t *Teller) Look(context.Context, time.Time) error {
	before, sent := t.told, 0
	t.told = map[types.UID][]translate.Remark{}
	tell := func(to corev1.ObjectReference, uid types.UID, list []translate.Remark) {
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
			t.Recorder.Remark(&to, r)
		}
	}
	t.ofOurKinds(tell)
	if t.Others != nil {
		for _, o := range t.Others() {
			tell(o.Object, o.Object.UID, []translate.Remark{o.Remark})
		}
	}
	for _, c := range t.World.NodeClaims() {
		n, up := t.World.NodeOf(c.Status.ProviderID)
		if !up {
			continue
		}
		// Events refer to nodes as the kubelet does, so that kubectl finds them.
		tell(corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.Name, UID: types.UID(n.Name)}, cmp.Or(n.UID, types.UID(n.Name)), translate.NodeRemarks(n))
		t.World.EachPodOn(n.Name, func(p *corev1.Pod) {
			if translate.Ours(p) {
				tell(corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, p.UID, translate.PodRemarks(p))
			}
		})
	}
	return nil
}

// ofOurKinds tells of objects of the daemon's kinds, and counts those that cannot be read.
func (t *Teller) ofOurKinds(tell func(to corev1.ObjectReference, uid types.UID, list []translate.Remark)) {
	unread := map[string]int{v1.NodePoolKind: 0, v1.NodeClaimKind: 0, awsv1.EC2NodeClassKind: 0}
	look := func(apiVersion, kind string, o metav1.Object, u v1.Unread, list []translate.Remark) {
		if u != "" {
			unread[kind]++
		}
		tell(corev1.ObjectReference{Kind: kind, APIVersion: apiVersion, Name: o.GetName(), UID: o.GetUID()}, o.GetUID(), list)
	}
	for _, p := range t.World.NodePools() {
		apiVersion, kind := v1.GroupVersion().String(), v1.NodePoolKind
		if translate.FromProvisioner(p) {
			apiVersion, kind = p.APIVersion, p.Kind
		}
		look(apiVersion, kind, p, p.Unread, translate.PoolRemarks(p))
	}
	for _, c := range t.World.EC2NodeClasses() {
		look(awsv1.GroupVersion().String(), awsv1.EC2NodeClassKind, c, c.Unread, translate.Unread(c.Unread, awsv1.EC2NodeClassKind, c.Name))
	}
	for _, c := range t.World.NodeClaims() {
		look(v1.GroupVersion().String(), v1.NodeClaimKind, c, c.Unread, translate.Unread(c.Unread, v1.NodeClaimKind, c.Name))
	}
	t.Recorder.UnreadCounted(unread)
}
