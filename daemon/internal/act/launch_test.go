package act

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// pooled is a world that has a NodePool.
type pooled struct {
	World

	pool *v1.NodePool
}

func (p pooled) NodePool(string) (*v1.NodePool, bool) { return p.pool, true }

// creating keeps the NodeClaim that it creates.
type creating struct {
	Claims

	made  *v1.NodeClaim
	fault error
}

func (c *creating) Create(_ context.Context, claim *v1.NodeClaim, _ metav1.CreateOptions) (*v1.NodeClaim, error) {
	c.made = claim
	return claim, c.fault
}

func TestLaunch_TheNodeClaimSaysWhichTemplateItIsMadeFrom(t *testing.T) {
	a, w := actor(t)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pu"}}
	pool.Spec.Template.ObjectMeta.Annotations = map[string]string{v1.AnnotationNodePoolHash: "of the user"}
	api := &creating{Claims: a.Claims}
	a.World, a.Claims = pooled{World: w, pool: pool}, api
	if err := a.Do(t.Context(), plan.Plan{Actions: []plan.Action{plan.Launch{Name: "p-1", Pool: "p", PoolUID: "pu", Class: "default"}}}); err != nil {
		t.Fatal(err)
	}
	got := api.made.Annotations
	if got[v1.AnnotationNodePoolHash] != drift.PoolHash(pool) || got[v1.AnnotationNodePoolHashVersion] != drift.Version {
		t.Errorf("annotations %v", got)
	}
}

// Metrics count NodeClaims that exist, and not plans.
func TestLaunch_OnlyWhatWasCreatedIsTold(t *testing.T) {
	for _, fault := range []error{nil, errors.New("a webhook denies it")} {
		a, w := actor(t)
		a.World = pooled{World: w, pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pu"}}}
		a.Claims = &creating{Claims: a.Claims, fault: fault}
		err := a.Do(t.Context(), plan.Plan{Actions: []plan.Action{plan.Launch{Name: "p-1", Pool: "p", PoolUID: "pu", Class: "default"}}})
		if told := slices.Contains(w.told, "created p-1"); !errors.Is(err, fault) || told != (fault == nil) {
			t.Errorf("fault %v: told %q, error %v", fault, w.told, err)
		}
	}
}
