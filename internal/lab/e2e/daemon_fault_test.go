//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/machine"
)

// isReady waits until the node's condition Ready has the status.
func isReady(t *testing.T, core kubernetes.Interface, node string, status corev1.ConditionStatus) {
	t.Helper()
	eventually(t, func() error {
		n, err := core.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == status {
				return nil
			}
		}
		return fmt.Errorf("conditions of node %s are %+v, want Ready %s", node, n.Status.Conditions, status)
	})
}

// podsOn lists all pods of the pool on a node, those on their way out included.
func (d *daemonLab) podsOn(ctx context.Context, p pool, node string) (all, ending int, err error) {
	list, err := d.Core.CoreV1().Pods(testNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + p.name})
	if err != nil {
		return 0, 0, err
	}
	for _, x := range list.Items {
		if x.Spec.NodeName == node {
			all++
			if x.DeletionTimestamp != nil {
				ending++
			}
		}
	}
	return all, ending, nil
}

// brokenKubeletEndsADrain drains a node whose pods never end. The drain gives them
// up, and what they belong to runs elsewhere meanwhile.
func brokenKubeletEndsADrain(t *testing.T, d *daemonLab, name string, broken func(context.Context, string) error, status corev1.ConditionStatus) {
	p := oneNode(name)
	d.createPool(t, p)
	d.deploy(t, p, 2)
	d.running(t, p, 2)
	claim, instance := d.theOne(t, p)
	node := claim.Status.NodeName
	if err := broken(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	isReady(t, d.Core, node, status)
	var left, ending int
	var lookErr error
	ended := d.endOf(t, instance.ID, func() { left, ending, lookErr = d.podsOn(context.Background(), p, node) })
	d.deleteClaim(t, claim)
	eventually(t, func() error {
		now, err := d.NodeClaims.Get(t.Context(), claim.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := now.Conditions().Get(v1.ConditionDrained); c.Reason != v1.ReasonDraining {
			return fmt.Errorf("condition Drained is %+v, want the drain to wait", c)
		}
		return nil
	})
	d.running(t, p, 2)
	eventually(t, func() error { // the drain gives each pod more than a minute to end
		select {
		case <-ended:
			return nil
		default:
			return fmt.Errorf("the instance is %s", d.state(claim))
		}
	})
	if left != 2 || ending != 2 || lookErr != nil {
		t.Errorf("%d pods were on the node when its instance was ended, %d of them on their way out (%v); want 2, as nothing ends them", left, ending, lookErr)
	}
	d.gone(t, claim)
	d.scale(t, p, 0)
	d.empties(t, p)
}

// TestDaemon_MachineThatNeverJoinsIsReplaced has a laboratory of its own, in which
// time goes fast enough for the daemon's patience to end.
func TestDaemon_MachineThatNeverJoinsIsReplaced(t *testing.T) {
	d := startDaemonLab(t, lab.Options{TimeFactor: 60, NodeGrace: 10 * time.Second})
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	d.part(t, "RegistrationTimeout", func(t *testing.T, d *daemonLab) {
		p := oneNode("dead")
		d.createPool(t, p)
		d.Machines.SetBootDelay(machine.NeverBoots)
		d.deploy(t, p, 2)
		var dead v1.NodeClaim
		eventually(t, func() error {
			claims, err := d.claims(t.Context(), p)
			if err != nil {
				return err
			}
			instances := d.instances(p)
			if len(claims) != 1 || len(instances) != 1 || instances[0].State != ec2sim.StateRunning {
				return fmt.Errorf("%d NodeClaims, instances %+v; want one that runs", len(claims), instances)
			}
			dead = claims[0]
			return nil
		})
		d.Machines.SetBootDelay(bootDelay)
		eventually(t, func() error {
			claims, err := d.claims(t.Context(), p)
			if err != nil {
				return err
			}
			if state := d.state(dead); len(claims) != 1 || claims[0].UID == dead.UID || state == ec2sim.StatePending || state == ec2sim.StateRunning {
				return fmt.Errorf("%d NodeClaims, and the instance of the machine that never joined is %s; want another NodeClaim alone", len(claims), state)
			}
			return nil
		})
		d.running(t, p, 2)
		if log := d.logs(); !strings.Contains(log, `"reason":"RegistrationTimeout"`) {
			t.Error("the daemon does not say RegistrationTimeout")
		}
	})
}
