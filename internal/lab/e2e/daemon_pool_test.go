//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// hasNodes waits until the pool has n NodeClaims, all of them initialized.
func (d *daemonLab) hasNodes(t *testing.T, p pool, n int) {
	t.Helper()
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil {
			return err
		}
		up := 0
		for i := range claims {
			if claims[i].Conditions().Get(v1.ConditionInitialized).IsTrue() && claims[i].DeletionTimestamp == nil {
				up++
			}
		}
		if up != n || len(claims) != n {
			return fmt.Errorf("%d NodeClaims, %d of them up, want %d", len(claims), up, n)
		}
		return nil
	})
}

// staticPoolKeepsItsNodes also sees that a deleted NodePool is there until its nodes are
// gone, one after the other.
func staticPoolKeepsItsNodes(t *testing.T, d *daemonLab) {
	p := pool{name: "static", requirements: map[string][]string{instanceType: {"c6a.xlarge"}}, replicas: 3}
	d.createPool(t, p)
	d.hasNodes(t, p, 3)
	if _, err := d.NodePools.Patch(t.Context(), p.name, types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	d.hasNodes(t, p, 2)
	if err := d.NodePools.Delete(t.Context(), p.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		_, err := d.NodePools.Get(t.Context(), p.name, metav1.GetOptions{})
		claims, listErr := d.claims(t.Context(), p)
		if listErr != nil {
			t.Fatal(listErr)
		}
		going := 0
		for i := range claims {
			// A node whose instance is being terminated has left its budget.
			if claims[i].DeletionTimestamp != nil && !claims[i].Conditions().Get(v1.ConditionInstanceTerminating).IsTrue() {
				going++
			}
		}
		switch {
		case apierrors.IsNotFound(err) && len(claims) == 0:
			if left := d.instances(p); len(left) > 0 {
				t.Errorf("instances are left: %+v", left)
			}
			return
		case going > 1:
			t.Fatalf("%d NodeClaims go at once", going)
		case time.Now().After(deadline):
			t.Fatalf("%d NodeClaims are left, NodePool: %v", len(claims), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// foregroundDeletionKeepsReplicas sees that the garbage collector deletes all NodeClaims of
// a NodePool that is deleted in the foreground, and that a quarter of the replicas at most
// are evicted at a time all the same. With the annotation they all go.
func foregroundDeletionKeepsReplicas(t *testing.T, d *daemonLab) {
	p := pool{name: "foreground", requirements: map[string][]string{instanceType: {"c6a.xlarge"}}, replicas: 3}
	d.createPool(t, p)
	d.deploy(t, p, 8)
	d.running(t, p, 8)
	foreground := metav1.DeletePropagationForeground
	if err := d.NodePools.Delete(t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil {
			return err
		}
		for i := range claims {
			drained := claims[i].Conditions().Get(v1.ConditionDrained)
			if claims[i].DeletionTimestamp == nil || !strings.Contains(drained.Message, "at most 2 of the 8 replicas of Deployment") {
				return fmt.Errorf("NodeClaim %s: deleted at %s, %s", claims[i].Name, claims[i].DeletionTimestamp, drained.Message)
			}
		}
		return nil
	})
	pods, err := d.pods(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	up := 0
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			up++
		}
	}
	if up != 6 {
		t.Errorf("%d of 8 replicas run, want 6: no other pool takes those that come in their place", up)
	}
	mark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1.AnnotationTerminate)
	if _, err := d.NodePools.Patch(t.Context(), p.name, types.MergePatchType, mark, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	d.empties(t, p)
	eventually(t, func() error {
		if _, err := d.NodePools.Get(t.Context(), p.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("NodePool %s is still there: %w", p.name, err)
		}
		return nil
	})
}
