package remark_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// world has one node with its pods.
type world struct {
	node *corev1.Node
	pods []*corev1.Pod
	sent []string
}

func (w *world) NodeClaims() []*v1.NodeClaim        { return []*v1.NodeClaim{{}} }
func (w *world) NodeOf(string) (*corev1.Node, bool) { return w.node, w.node != nil }
func (w *world) PodsOn(string) []*corev1.Pod        { return w.pods }
func (w *world) Remark(o *corev1.ObjectReference, r translate.Remark) {
	w.sent = append(w.sent, o.Kind+" "+o.Namespace+"/"+o.Name+" "+r.Reason)
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
