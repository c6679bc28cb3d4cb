//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// adversity is a fault that is in force while a Deployment grows.
type adversity struct {
	fault      string
	parameters []string
	lasts      time.Duration // how long it is in force after the pods have come
	told       string        // what an Event on the NodePool says meanwhile; empty: not looked at
	launches   int           // how many instances may be launched in vain; 0: none
	late       bool          // its pods run minutes later, so that is looked at in the end
}

// grown is how many pods there are in the end.
const grown = 12

// ordinary is a pool of the sizes that most users allow.
func ordinary(name string) pool {
	return pool{name: name, requirements: map[string][]string{"karpenter.k8s.aws/instance-category": {"c", "m", "r"}}}
}

// TestDaemonAdversity lets each thing go wrong that may on a bad day, while pods wait for nodes:
// what runs stays, nothing is launched twice, and all pods run after it is over.
func TestDaemonAdversity(t *testing.T) {
	d := startDaemonLab(t, lab.Options{NodeGrace: 10 * time.Second})
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	const short, long = 4 * time.Second, 12 * time.Second
	rows := []struct {
		name string
		adversity
	}{
		{"EC2_Away", adversity{fault: "aws-error", parameters: []string{"service", "ec2"}, lasts: long}},
		{"EC2_DoesNotAnswer", adversity{fault: "aws-silent", parameters: []string{"service", "ec2"}, lasts: long}},
		{"EC2_Slow", adversity{fault: "aws-slow", parameters: []string{"service", "ec2", "least", "1s", "most", "3s"}, lasts: long}},
		{"EC2_LosesAnswers", adversity{fault: "aws-lost-answer", parameters: []string{"action", "CreateFleet", "share", "0.7"}, lasts: short}},
		{"EC2_FailsNowAndThen", adversity{fault: "aws-error", parameters: []string{"share", "0.5"}, lasts: short}},
		{"IAM_DeniesMidway", adversity{fault: "aws-denied", parameters: []string{"service", "ec2", "action", "CreateFleet"}, lasts: short, told: "not authorized"}},
		{"Credentials_Expire", adversity{fault: "aws-expire"}},
		{"Capacity_StormAndReturn", adversity{fault: "capacity-storm", lasts: long, told: "capacity", late: true}},
		{"KMS_InstancesEndAfterLaunch", adversity{fault: "kms-refused", lasts: short, launches: 20}},
		{"Subnet_Full", adversity{fault: "full-subnet"}},
		{"APIServer_Restarts", adversity{fault: "api-server-restart", parameters: []string{"down", "3s"}}},
		{"Etcd_Slow", adversity{fault: "etcd-slow", lasts: long}},
		{"Network_Partition", adversity{fault: "partition", lasts: long}},
		{"Network_Silent", adversity{fault: "network-silent", lasts: long}},
		{"Watch_FallsBehind", adversity{fault: "watch-behind", parameters: []string{"delay", "3s"}, lasts: long}},
		{"Webhook_DeniesNodeClaims", adversity{fault: "webhook", parameters: []string{"does", "deny", "resource", "nodeclaims"}, lasts: short}},
		{"Webhook_HangsOnNodeClaims", adversity{fault: "webhook", parameters: []string{"does", "hang", "resource", "nodeclaims"}, lasts: long}},
		{"Daemon_Killed", adversity{fault: "daemon-kill"}},
		{"Daemon_FrozenAndThawed", adversity{fault: "daemon-freeze", lasts: 2 * long}},
		{"Machine_JoinsTwice", adversity{fault: "joins-twice", lasts: short}},
	}
	rows = share.Of(t.Name(), 2, rows)
	pools := map[string]pool{}
	for _, row := range rows {
		name := strings.ToLower(strings.ReplaceAll(row.name, "_", "-"))
		pools[row.name] = ordinary(name)
		if row.late { // what is found to lack capacity is not what others need
			pools[row.name] = pool{name: name, requirements: map[string][]string{"karpenter.k8s.aws/instance-category": {"t"}}}
		}
		d.createPool(t, pools[row.name])
		d.deploy(t, pools[row.name], 2)
	}
	for _, row := range rows {
		d.running(t, pools[row.name], 2)
	}
	grows := map[string]bool{}
	for _, row := range rows {
		d.part(t, row.name, func(t *testing.T, d *daemonLab) {
			d.survives(t, pools[row.name], row.adversity)
			grows[row.name] = row.late
		})
	}
	for _, row := range rows {
		if p := pools[row.name]; grows[row.name] {
			d.running(t, p, grown)
			d.eachHasOne(t, p)
		}
	}
	for _, row := range rows {
		d.scale(t, pools[row.name], 0)
	}
	for _, row := range rows {
		d.empties(t, pools[row.name])
	}
	d.nothingIsLeft(t)
}

// survives lets the pool's Deployment grow while the fault is in force.
func (d *daemonLab) survives(t *testing.T, p pool, a adversity) {
	before, err := d.claims(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	launched := len(d.everLaunched(p))
	client := faults.Client{URL: d.Faults.URL()}
	if _, err := client.Begin(t.Context(), a.fault, a.parameters...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // also after a failure: the next part has its own
		if err := client.EndAll(context.Background()); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	d.scaleUp(t, p, grown)
	if a.told != "" {
		d.toldOfPool(t, p, a.told)
	}
	time.Sleep(a.lasts - time.Since(began))
	if err := client.EndAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.late {
		return
	}
	ended := time.Now()
	d.running(t, p, grown)
	t.Logf("all pods run %s after the fault ended, which lasted %s", time.Since(ended).Round(100*time.Millisecond), ended.Sub(began).Round(time.Second))
	d.stillThere(t, p, before)
	d.eachHasOne(t, p)
	if vain := len(d.everLaunched(p)) - launched - (len(d.instances(p)) - len(before)); vain > a.launches {
		t.Errorf("%d instances were launched in vain, want at most %d", vain, a.launches)
	}
}

// scaleUp is scale, for as long as the API server does not answer.
func (d *daemonLab) scaleUp(t *testing.T, p pool, replicas int32) {
	t.Helper()
	eventually(t, func() error {
		deployments := d.Core.AppsV1().Deployments(testNamespace)
		have, err := deployments.Get(t.Context(), p.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		have.Spec.Replicas = &replicas
		_, err = deployments.Update(t.Context(), have, metav1.UpdateOptions{})
		return err
	})
}

// stillThere checks that no node that ran pods was taken away.
func (d *daemonLab) stillThere(t *testing.T, p pool, before []v1.NodeClaim) {
	t.Helper()
	now, err := d.claims(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, c := range now {
		have[c.Name] = c.DeletionTimestamp == nil
	}
	for _, c := range before {
		if !have[c.Name] {
			t.Errorf("NodeClaim %s ran pods before the fault and is gone or going", c.Name)
		}
	}
}

// eachHasOne waits until each NodeClaim of the pool has exactly one instance, and each instance
// a NodeClaim.
func (d *daemonLab) eachHasOne(t *testing.T, p pool) {
	t.Helper()
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil {
			return err
		}
		of := map[string]int{}
		for _, i := range d.instances(p) {
			of["/"+i.ID]++
		}
		for _, c := range claims {
			id := c.Status.ProviderID[strings.LastIndexByte(c.Status.ProviderID, '/')+1:]
			of["/"+id]--
		}
		for id, n := range of {
			if n != 0 {
				return fmt.Errorf("instance %s has %+d instances more than NodeClaims", id, n)
			}
		}
		return nil
	})
}

// nothingIsLeft waits until no instance runs, no node is there but the bootstrap group's, and no
// NodeClaim.
func (d *daemonLab) nothingIsLeft(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		var left []string
		for _, i := range d.Cloud.EC2.Instances() {
			if i.State != ec2sim.StateTerminated && i.State != ec2sim.StateShuttingDown {
				left = append(left, i.ID)
			}
		}
		nodes, err := d.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, n := range nodes.Items {
			if n.Labels["eks.amazonaws.com/nodegroup"] == "" {
				left = append(left, n.Name)
			}
		}
		claims, err := d.NodeClaims.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, c := range claims.Items {
			left = append(left, c.Name)
		}
		if len(left) > 0 {
			return fmt.Errorf("left: %s", strings.Join(left, ", "))
		}
		return nil
	})
}
