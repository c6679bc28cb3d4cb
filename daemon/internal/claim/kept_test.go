package claim

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate/filltest"
)

// A drain decides the same for reduced pods (translate.Keeper) as for whole ones.
func TestDrain_DecidesTheSameForReducedPods(t *testing.T) {
	k, now := translate.NewKeeper(), time.Unix(1001, 0)
	decisions := func(p *corev1.Pod) []any {
		grace := int64(30)
		if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
			grace = *s
		}
		if !evictable(p, now) {
			return []any{p.Namespace, p.Name, p.UID}
		}
		return []any{p.Namespace, p.Name, p.UID, tier(p), translate.PodProtection(p), p.DeletionTimestamp, grace}
	}
	drained := 0
	for seed := range uint64(2000) {
		whole, kept := filltest.Fill(filltest.New(seed), &corev1.Pod{}), filltest.Fill(filltest.New(seed), &corev1.Pod{})
		k.Keep(kept)
		want, got := decisions(whole), decisions(kept)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: %v, of the whole pod %v", seed, got, want)
		}
		if len(want) > 3 {
			drained++
		}
	}
	if drained < 200 {
		t.Errorf("only %d pods had to be drained: the test sees too little", drained)
	}
}

// Registration and initialization read the same in a reduced node as in the whole one,
// and write back the same lists.
func TestRegister_ReadsTheSameInReducedNodes(t *testing.T) {
	k, claim := translate.NewKeeper(), &v1.NodeClaim{}
	claim.Spec.StartupTaints = []v1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	claim.Spec.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("1")}
	seen := func(n *corev1.Node) []any {
		reason, message := notInitialized(claim, n)
		return []any{
			n.Name, n.UID, n.ResourceVersion, n.DeletionTimestamp, n.Spec.ProviderID, translate.NodeReady(n), reason, message != "",
			n.Finalizers, n.OwnerReferences, n.Labels, n.Annotations, n.Spec.Taints,
		}
	}
	for seed := range uint64(1000) {
		whole, kept := filltest.Fill(filltest.New(seed), &corev1.Node{}), filltest.Fill(filltest.New(seed), &corev1.Node{})
		k.Keep(kept)
		if want, got := seen(whole), seen(kept); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: %v, of the whole node %v", seed, got, want)
		}
	}
}
