//go:build lab

package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// TestDrift_NodesFollowTheirClassAndTheirPool edits the class of one pool, and another
// pool: the node of each is replaced by one that is as they ask for now, and the old one
// goes. Then nothing drifts any more. The daemon is installed without Terraform, and in the end
// removed with all nodes.
func TestDrift_NodesFollowTheirClassAndTheirPool(t *testing.T) {
	d := startDaemonLab(t, lab.Options{})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(d.logTail())
		}
	})
	user := d.installWithoutTerraform(t)
	one := map[string][]string{instanceType: {"c6i.xlarge"}}
	byClass, byPool := pool{name: "by-class", class: "edited", requirements: one}, pool{name: "by-pool", requirements: one}
	d.apply(t, d.nodeClass(byClass.class, nil), d.nodeClass(nodeClassName, nil))
	old := map[string]v1.NodeClaim{}
	for _, p := range []pool{byClass, byPool} {
		d.createPool(t, p)
		d.deploy(t, p, 1)
		d.running(t, p, 1)
		old[p.name], _ = d.theOne(t, p)
	}

	d.apply(t, d.nodeClass(byClass.class, map[string]any{"tags": map[string]any{"team": "web"}}))
	byPool.grace = "1h"
	d.apply(t, byPool.object())
	d.replaced(t, byClass, old[byClass.name])
	if _, instance := d.theOne(t, byClass); instance.Tags["team"] != "web" {
		t.Errorf("tags of the new instance: %v", instance.Tags)
	}
	d.saidDrifted(t, old[byClass.name], "NodeClassDrift: EC2NodeClass edited has another spec than when the instance was launched: tags")
	d.replaced(t, byPool, old[byPool.name])
	if c, _ := d.theOne(t, byPool); c.Spec.TerminationGracePeriod == nil || c.Spec.TerminationGracePeriod.Hours() != 1 {
		t.Errorf("terminationGracePeriod of the new NodeClaim: %v", c.Spec.TerminationGracePeriod)
	}
	d.saidDrifted(t, old[byPool.name], "NodePoolDrifted: NodePool by-pool has another template than when the NodeClaim was made: terminationGracePeriod")
	for _, p := range []pool{byClass, byPool} {
		if c, _ := d.theOne(t, p); c.Conditions().Get(v1.ConditionDrifted).Type != "" {
			t.Errorf("the new NodeClaim of pool %s has drifted: %+v", p.name, c.Status.Conditions)
		}
		if n := len(d.everLaunched(p)); n != 2 {
			t.Errorf("pool %s has had %d instances, want 2", p.name, n)
		}
	}
	user.end(t, byClass, byPool)
}

// replaced waits until another NodeClaim has the pool's pod, and the old one is gone with
// its node and its instance.
func (d *daemonLab) replaced(t *testing.T, p pool, old v1.NodeClaim) {
	t.Helper()
	eventually(t, func() error {
		if _, err := d.NodeClaims.Get(t.Context(), old.Name, metav1.GetOptions{}); err == nil {
			return fmt.Errorf("NodeClaim %s is still there", old.Name)
		}
		return nil
	})
	d.gone(t, old)
	d.running(t, p, 1)
}

// saidDrifted wants the Event that says why the NodeClaim has drifted.
func (d *daemonLab) saidDrifted(t *testing.T, c v1.NodeClaim, message string) {
	t.Helper()
	eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		events, err := d.Core.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=Drifted,involvedObject.name=" + c.Name})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Message == message {
				return nil
			}
		}
		return fmt.Errorf("no Event of NodeClaim %s says %q: %+v", c.Name, message, events.Items)
	})
}
