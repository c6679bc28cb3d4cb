package world

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Reduced objects (translate.Keeper) give the same world as whole objects, whatever
// their references to each other.
func TestWorld_IsTheSameOfReducedObjects(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{T: rt, alive: map[string]metav1.Object{}}
		whole, kept, keeper := newWorld(), newWorld(), translate.NewKeeper()
		for _, w := range []*World{whole, kept} {
			w.SpreadByDefault([]cluster.Spread{{Key: label.Zone, MaxSkew: 3, Soft: true}})
		}
		for range rapid.IntRange(20, 60).Draw(rt, "events") {
			kind := h.pick("kind", kinds...)
			o := h.object(kind)
			id := kind + o.GetNamespace() + "/" + o.GetName()
			if known, there := h.alive[id]; there && h.pick("event", "changed", "changed", "gone") == "gone" {
				whole.Forget(known)
				kept.Forget(known)
				delete(h.alive, id)
				continue
			}
			small := o.(runtime.Object).DeepCopyObject().(metav1.Object)
			whole.Observe(o)
			kept.Observe(keeper.Compact(small))
			h.alive[id] = o
		}
		got, want := contents(kept.Snapshot()), contents(whole.Snapshot())
		for what := range want {
			if !reflect.DeepEqual(got[what], want[what]) {
				rt.Fatalf("%s: %+v\nof whole objects: %+v", what, got[what], want[what])
			}
		}
	})
}
