package drifted

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// What is foreseen is what a sweep writes while EC2 does not answer.
func TestForesee_IsWhatASweepWrites(t *testing.T) {
	x := newTest(t)
	x.away = true
	hashed := map[string]string{v1.AnnotationNodePoolHash: "1", v1.AnnotationNodePoolHashVersion: "v3"}
	for name, change := range map[string]func(c *v1.NodeClaim){
		"as-asked":  func(*v1.NodeClaim) {},
		"karpenter": func(c *v1.NodeClaim) { c.Annotations = maps.Clone(hashed) },
		"drifted": func(c *v1.NodeClaim) {
			c.Annotations = maps.Clone(hashed)
			c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, "NodePoolDrifted", "", start)
		},
		"image": func(c *v1.NodeClaim) { c.Status.ImageID = "ami-0" },
		"refuted": func(c *v1.NodeClaim) {
			c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, "AMIDrift", "", start)
		},
		"open": func(c *v1.NodeClaim) {
			c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, "SubnetDrift", "", start)
		},
		"other": func(c *v1.NodeClaim) { c.Annotations[v1.AnnotationNodePoolHash] = "taints=1" },
		"going": func(c *v1.NodeClaim) { c.Annotations, c.DeletionTimestamp = nil, &metav1.Time{Time: start} },
	} {
		c := x.launched(name)
		change(c)
		x.put(c)
	}
	before := map[string]string{}
	for _, c := range x.world.NodeClaims() {
		before[c.Name] = said(c)
	}
	want := map[string]string{}
	for _, c := range Foresee(x.world, x.now) {
		want[c.Name] = said(c)
	}
	_ = x.keeper.Sweep(t.Context(), x.now) // it says that EC2 does not answer
	changed := 0
	for _, c := range x.world.NodeClaims() {
		got := said(c)
		if foreseen, there := want[c.Name]; there && got != foreseen || !there && got != before[c.Name] {
			t.Errorf("%s: foreseen %v %q, and written\n%s", c.Name, there, foreseen, got)
		}
		if got != before[c.Name] {
			changed++
		}
	}
	if changed != len(want) || changed != 5 {
		t.Errorf("%d NodeClaims changed, and %d were foreseen, want 5", changed, len(want))
	}
}

func said(c *v1.NodeClaim) string {
	return fmt.Sprintf("%v %+v", c.Annotations, c.Conditions().Get(v1.ConditionDrifted))
}
