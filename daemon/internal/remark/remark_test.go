package remark_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// world has one node with its pods, and objects of the daemon's kinds.
type world struct {
	node    *corev1.Node
	pods    []*corev1.Pod
	pools   []*v1.NodePool
	classes []*awsv1.EC2NodeClass
	claims  []*v1.NodeClaim
	sent    []string
	texts   []string
	unread  map[string]int
}

func (w *world) NodePools() []*v1.NodePool             { return w.pools }
func (w *world) EC2NodeClasses() []*awsv1.EC2NodeClass { return w.classes }
func (w *world) UnreadCounted(byKind map[string]int)   { w.unread = byKind }

func (w *world) NodeClaims() []*v1.NodeClaim        { return append([]*v1.NodeClaim{{}}, w.claims...) }
func (w *world) NodeOf(string) (*corev1.Node, bool) { return w.node, w.node != nil }
func (w *world) EachPodOn(_ string, do func(*corev1.Pod)) {
	for _, p := range w.pods {
		do(p)
	}
}

func (w *world) Remark(o *corev1.ObjectReference, r translate.Remark) {
	w.sent = append(w.sent, o.Kind+" "+o.Namespace+"/"+o.Name+" "+r.Reason)
	w.texts = append(w.texts, r.Text)
}

func (w *world) pod(name, annotation, value string) {
	w.pods = append(w.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "x", Name: name, UID: types.UID(name), Annotations: map[string]string{annotation: value},
	}, Spec: corev1.PodSpec{NodeName: "n"}})
}

func TestTeller_TellsOfEachObjectOnce(t *testing.T) {
	w := &world{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Annotations: map[string]string{v1.AnnotationDoNotConsolidate: "true"}}}}
	w.pod("old", v1.AnnotationDoNotEvict, "true")
	w.pod("broken", v1.AnnotationDoNotDisrupt, "4 hours")
	w.pod("good", v1.AnnotationDoNotDisrupt, "4h")
	teller := remark.Teller{World: w, Recorder: w}
	look := func(want ...string) {
		t.Helper()
		w.sent = nil
		if err := teller.Look(context.Background(), time.Time{}); err != nil || !slices.Equal(w.sent, want) {
			t.Errorf("sent %q, error %v; want %q", w.sent, err, want)
		}
	}
	look("Node /n "+translate.RemarkOld, "Pod x/old "+translate.RemarkOld, "Pod x/broken "+translate.RemarkInvalid)
	look()
	w.pods[1].Annotations = map[string]string{v1.AnnotationDoNotDisrupt: "five hours"}
	look("Pod x/broken " + translate.RemarkInvalid)
	gone := w.pods[0]
	w.pods = w.pods[1:]
	look()
	gone.UID = "another of the same name"
	w.pods = append(w.pods, gone)
	look("Pod x/old " + translate.RemarkOld)
}

func TestTeller_TellsOfOtherObjectsOnce(t *testing.T) {
	w := &world{}
	overlay := remark.Other{Object: corev1.ObjectReference{Kind: "NodeOverlay", Name: "cheap", UID: "o"}, Remark: translate.Remark{Reason: translate.RemarkNotCarriedOut, Text: "it is not"}}
	buffer := overlay
	buffer.Object = corev1.ObjectReference{Kind: "CapacityBuffer", Namespace: "shop", Name: "room", UID: "b"}
	others := []remark.Other{overlay}
	teller := remark.Teller{World: w, Recorder: w, Others: func() []remark.Other { return others }}
	look := func(want ...string) {
		t.Helper()
		w.sent = nil
		if err := teller.Look(t.Context(), time.Time{}); err != nil || !slices.Equal(w.sent, want) {
			t.Errorf("sent %q, error %v; want %q", w.sent, err, want)
		}
	}
	look("NodeOverlay /cheap NotCarriedOut")
	others = append(others, buffer)
	look("CapacityBuffer shop/room NotCarriedOut")
	look()
	others[0].Object.UID = "another of the same name"
	look("NodeOverlay /cheap NotCarriedOut")
}

func TestTeller_SpreadsManyEventsOverLooks(t *testing.T) {
	w := &world{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	for i := range remark.AtOnce + 3 {
		w.pod(fmt.Sprint(i), v1.AnnotationDoNotEvict, "true")
	}
	teller := remark.Teller{World: w, Recorder: w}
	for _, want := range []int{remark.AtOnce, remark.AtOnce + 3, remark.AtOnce + 3} {
		if _ = teller.Look(context.Background(), time.Time{}); len(w.sent) != want {
			t.Errorf("%d Events, want %d", len(w.sent), want)
		}
	}
}

func TestTeller_TellsOnceOfObjectsThatCannotBeRead(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(name)} }
	w := &world{
		pools:   []*v1.NodePool{{ObjectMeta: named("p"), Unread: "spec.weight must be a whole number of 32 bits, and is a string\n"}, {ObjectMeta: named("good")}},
		classes: []*awsv1.EC2NodeClass{{ObjectMeta: named("k"), Unread: "spec.kubelet.maxPods must be a whole number of 32 bits, and is a string\n"}},
		claims:  []*v1.NodeClaim{{ObjectMeta: named("c"), Unread: "spec.taints must be a list, and is an object\n"}},
	}
	teller := remark.Teller{World: w, Recorder: w}
	for range 3 {
		if err := teller.Look(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"NodePool /p Unreadable", "EC2NodeClass /k Unreadable", "NodeClaim /c Unreadable"}; !slices.Equal(w.sent, want) {
		t.Errorf("sent %q, want %q", w.sent, want)
	}
	if want := "EC2NodeClass k cannot be read: spec.kubelet.maxPods must be a whole number of 32 bits, and is a string: correct what is named, or remove it. " +
		"Until then nothing is launched for it, and what runs for it stays."; w.texts[1] != want {
		t.Errorf("text %q, want %q", w.texts[1], want)
	}
	if want := map[string]int{"NodePool": 1, "EC2NodeClass": 1, "NodeClaim": 1}; !maps.Equal(w.unread, want) {
		t.Errorf("counted %v, want %v", w.unread, want)
	}
	w.pools[0].Unread, w.classes[0].Unread, w.claims[0].Unread = "", "", ""
	if err := teller.Look(t.Context(), time.Time{}); err != nil || len(w.sent) != 3 || w.unread["NodePool"]+w.unread["EC2NodeClass"]+w.unread["NodeClaim"] != 0 {
		t.Errorf("after they were corrected: sent %q, counted %v, error %v", w.sent, w.unread, err)
	}
}

func TestTeller_NamesKeysOfATemplateThatAreTheDaemonsOwn(t *testing.T) {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", Annotations: map[string]string{v1.AnnotationPauseDisruption: "true"}}}
	p.Spec.Template.ObjectMeta.Annotations = map[string]string{v1.AnnotationLaunchRequest: "{}", "team": "a"}
	p.Spec.Template.ObjectMeta.Labels = map[string]string{"karpenterd.sh/pool": "x", "karpenterd.shop/pool": "y"}
	p.Spec.Template.Spec.StartupTaints = []v1.Taint{{Key: v1.TaintAwaitingPods, Effect: "NoSchedule"}}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: "karpenterd.sh/planned-pods", Operator: "Exists"}, {Key: "team", Operator: "Exists"}}
	w := &world{pools: []*v1.NodePool{p}}
	teller := remark.Teller{World: w, Recorder: w}
	for range 2 {
		if err := teller.Look(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"NodePool /p ReservedKeys"}; !slices.Equal(w.sent, want) {
		t.Fatalf("sent %q, want %q", w.sent, want)
	}
	if want := "The template has label karpenterd.sh/pool, annotation karpenterd.sh/launch-request, taint karpenterd.sh/awaiting-pods, requirement karpenterd.sh/planned-pods. "; !strings.HasPrefix(w.texts[0], want) {
		t.Errorf("text %q, want it to begin %q", w.texts[0], want)
	}
}
