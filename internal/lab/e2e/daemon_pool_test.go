//go:build lab

package e2e

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// hasNodes waits until the pool has n NodeClaims, all of them initialized.
func (d *daemonLab) hasNodes(t *testing.T, p pool, n int) {
	t.Helper()
	eventually(t, patience, func() error {
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
