//go:build lab

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/machine"
)

// scene is what the pool looks like from the API.
type scene struct {
	claim       *v1.NodeClaim // the one given
	podsOn      int           // on its node
	othersReady int           // nodes of the pool
	err         error
}

func (d *daemonLab) look(ctx context.Context, p pool, c v1.NodeClaim) (s scene) {
	s.claim, s.err = d.NodeClaims.Get(ctx, c.Name, metav1.GetOptions{})
	pods, err := d.pods(ctx, p)
	if err != nil {
		s.err = err
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == c.Status.NodeName {
			s.podsOn++
		}
	}
	nodes, err := d.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + p.name})
	if err != nil {
		s.err = err
		return s
	}
	for _, n := range nodes.Items {
		if n.Name != c.Status.NodeName && slices.ContainsFunc(n.Status.Conditions, func(x corev1.NodeCondition) bool {
			return x.Type == corev1.NodeReady && x.Status == corev1.ConditionTrue
		}) {
			s.othersReady++
		}
	}
	return s
}

// warn has a pool with three pods on one spot node lose it, and returns what
// was to be seen when the instance began to end, and how long after the
// warning. A replacement takes the time given to boot.
func (d *daemonLab) warn(t *testing.T, p pool, replacement time.Duration) (v1.NodeClaim, scene, time.Duration) {
	t.Helper()
	d.createPool(t, p)
	d.deploy(t, p, 3)
	d.running(t, p, 3)
	claim, instance := d.theOne(t, p)
	var seen scene
	ended := d.endOf(t, instance.ID, func() { seen = d.look(context.Background(), p, claim) })
	d.Machines.SetBootDelay(replacement)
	defer d.Machines.SetBootDelay(bootDelay)
	began := time.Now()
	if err := d.Cloud.EC2.WarnSpot(instance.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-ended:
		return claim, seen, at.Sub(began)
	case <-time.After(patience):
		t.Fatal("the instance was never taken")
	}
	return claim, seen, 0
}

func spotWarningReplacesTheNode(t *testing.T, d *daemonLab) {
	p := oneNode("warned")
	p.spot = true
	claim, seen, after := d.warn(t, p, 3*time.Second) // longer than the drain of a node
	if after >= spotNotice {
		t.Errorf("the daemon did not end the instance before the %s of its notice were over", spotNotice)
	}
	if seen.err != nil || seen.othersReady == 0 || seen.podsOn != 0 {
		t.Errorf("when the instance went %s after its warning: %+v; want another node Ready and no pod left on this one", after, seen)
	}
	d.gone(t, claim)
	d.running(t, p, 3)
	if all := d.everLaunched(p); len(all) != 2 {
		t.Errorf("%d instances were launched, want the first and its replacement", len(all))
	}
	t.Logf("replaced %s after the warning", after.Round(10*time.Millisecond))
	d.scale(t, p, 0)
	d.empties(t, p)
}

// withoutRules runs a test while no event rule sends anything to the queue.
func (d *daemonLab) withoutRules(t *testing.T, test func(*testing.T)) {
	rules := awsspec.EventRules(d.ClusterName)
	for _, r := range rules {
		if err := d.aws.DeleteRule(t.Context(), r.Name, aws.AnyID); err != nil {
			t.Fatal(err)
		}
	}
	test(t)
	queue := fmt.Sprintf("arn:aws:sqs:%s:%s:%s", d.Region, lab.Account, awsspec.QueueName(d.ClusterName))
	for _, r := range rules {
		if err := d.createRule(t.Context(), r, queue); err != nil {
			t.Fatal(err)
		}
	}
}

func nobodyHearsOfAWarning(t *testing.T, d *daemonLab) {
	p := oneNode("unwarned")
	p.spot = true
	heard := d.messages(t)
	claim, seen, after := d.warn(t, p, bootDelay)
	if after < spotNotice {
		t.Errorf("the instance went %s after a warning that nobody can have heard", after)
	}
	if seen.err != nil || seen.claim.DeletionTimestamp != nil || seen.claim.Annotations[v1.AnnotationInterruption] != "" || seen.podsOn != 3 || seen.othersReady != 0 {
		t.Errorf("when the instance was taken: %+v; want nothing to have happened before", seen)
	}
	d.gone(t, claim)
	d.running(t, p, 3)
	if now := d.messages(t); now != heard {
		t.Errorf("messages heard: %q before, %q now", heard, now)
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// messages is what the leader counts of the interruption queue.
func (d *daemonLab) messages(t *testing.T) string {
	t.Helper()
	var counts []string
	for line := range strings.Lines(get(t, "http://"+d.leader(t).address+":8080/metrics")) {
		if strings.HasPrefix(line, "karpenter_interruption_received_messages_total") {
			counts = append(counts, strings.TrimSpace(line))
		}
	}
	slices.Sort(counts)
	return strings.Join(counts, " ")
}

// vanished is a NodeClaim whose machine never joined and whose instance was
// taken: neither an event nor a Node tells of it.
type vanished struct {
	pool  pool
	claim v1.NodeClaim
}

// loseInstance makes a vanished. Machines that start meanwhile are dead, too.
func (d *daemonLab) loseInstance(t *testing.T) vanished {
	t.Helper()
	v := vanished{pool: pool{name: "vanished", requirements: map[string][]string{instanceType: {"r6a.large"}}}}
	d.createPool(t, v.pool)
	d.Machines.SetBootDelay(machine.NeverBoots)
	defer d.Machines.SetBootDelay(bootDelay)
	d.deploy(t, v.pool, 1)
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), v.pool)
		if err != nil {
			return err
		}
		if len(claims) != 1 || claims[0].Status.ProviderID == "" {
			return fmt.Errorf("not launched: %+v", claims)
		}
		v.claim = claims[0]
		return nil
	})
	if err := d.Cloud.EC2.Terminate(d.instances(v.pool)[0].ID); err != nil {
		t.Fatal(err)
	}
	return v
}

// isReplaced waits for the sweep for orphans, which is not in a hurry.
func (v vanished) isReplaced(t *testing.T, d *daemonLab) {
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), v.pool)
		if err != nil {
			return err
		}
		for _, c := range claims {
			if c.UID == v.claim.UID {
				return fmt.Errorf("NodeClaim %s is still there: %+v", c.Name, c.Status.Conditions)
			}
		}
		return nil
	})
	d.running(t, v.pool, 1)
	d.scale(t, v.pool, 0)
	d.empties(t, v.pool)
}
