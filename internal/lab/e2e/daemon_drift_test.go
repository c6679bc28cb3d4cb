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

// TestDrift_NodesFollowTheirClassAndTheirPool edits a class and then a pool: each time
// the node is replaced by one that is as they ask for now, and the old one goes. Then
// nothing drifts any more.
func TestDrift_NodesFollowTheirClassAndTheirPool(t *testing.T) {
	d := startDaemonLab(t, lab.Options{})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(d.logTail())
		}
	})
	d.installDaemon(t)
	p := pool{name: "drift", requirements: map[string][]string{instanceType: {"c6i.xlarge", "c6i.2xlarge"}}}
	d.apply(t, d.nodeClass(nodeClassName, nil))
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	first, _ := d.theOne(t, p)

	d.apply(t, d.nodeClass(nodeClassName, map[string]any{"tags": map[string]any{"team": "web"}}))
	second := d.replaced(t, p, first)
	if _, instance := d.theOne(t, p); instance.Tags["team"] != "web" {
		t.Errorf("tags of the new instance: %v", instance.Tags)
	}
	d.saidDrifted(t, first, "NodeClassDrift: EC2NodeClass default has another spec than when the instance was launched: tags")

	p.grace = "1h"
	d.apply(t, p.object())
	third := d.replaced(t, p, second)
	if g := third.Spec.TerminationGracePeriod; g == nil || g.Hours() != 1 {
		t.Errorf("terminationGracePeriod of the new NodeClaim: %v", g)
	}
	d.saidDrifted(t, second, "NodePoolDrifted: NodePool drift has another template than when the NodeClaim was made: terminationGracePeriod")
	if c := third.Conditions().Get(v1.ConditionDrifted); c.Type != "" {
		t.Errorf("the new NodeClaim has drifted: %+v", c)
	}
	if n := len(d.everLaunched(p)); n != 3 {
		t.Errorf("%d instances were launched, want 3", n)
	}
}

// replaced waits until another NodeClaim has the pool's pod, and the old one is gone with
// its node and its instance.
func (d *daemonLab) replaced(t *testing.T, p pool, old v1.NodeClaim) v1.NodeClaim {
	t.Helper()
	eventually(t, 3*patience, func() error {
		_, err := d.NodeClaims.Get(t.Context(), old.Name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("NodeClaim %s is still there", old.Name)
		}
		return nil
	})
	d.gone(t, old)
	d.running(t, p, 1)
	now, _ := d.theOne(t, p)
	return now
}

// saidDrifted wants the Event that says why the NodeClaim has drifted.
func (d *daemonLab) saidDrifted(t *testing.T, c v1.NodeClaim, message string) {
	t.Helper()
	eventually(t, patience, func() error {
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
