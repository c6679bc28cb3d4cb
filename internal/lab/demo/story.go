package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

const (
	region      = "us-west-2"
	clusterName = "lab"
)

// story is the demo, act by act.
func (d *demo) story(ctx context.Context) error {
	for _, act := range []func(context.Context) error{d.apply, d.scaleUp, d.interrupt, d.scaleFurther, d.consolidate, d.destroy} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	d.summary()
	return nil
}

// apply makes everything with one configuration and one apply.
func (d *demo) apply(ctx context.Context) error {
	d.title("One apply: roles, tags, queue, daemon, a node class and three node pools")
	if _, _, err := d.tofu.run(ctx, []int{0}, "init", "-no-color"); err != nil {
		return err
	}
	_, planned, err := d.tofu.run(ctx, []int{2}, "plan", "-no-color", "-detailed-exitcode")
	if err != nil {
		return err
	}
	_, took, err := d.tofu.run(ctx, []int{0}, "apply", "-no-color", "-auto-approve")
	if err != nil {
		return err
	}
	d.say("applied in %.1f s; planning took %.2f s (to be under 2 s)", took.Seconds(), planned.Seconds())
	code, again, err := d.tofu.run(ctx, []int{0, 2}, "plan", "-no-color", "-detailed-exitcode")
	if err != nil {
		return err
	}
	return d.check(code == 0, "a second plan is empty (%.2f s)", again.Seconds())
}

// How many pods there are at first, and at most without the reports.
const (
	firstPods = 5 + 20 + 1 + 1 // inflate, inflate-spot, a service, and the ledger
	morePods  = 40 + 20 + 3 + 1
)

// scaleUp takes the cluster from no node to the first pods.
func (d *demo) scaleUp(ctx context.Context) error {
	if err := d.deploy(ctx, inflates()...); err != nil {
		return err
	}
	d.title("Scale up: inflate to 5 and inflate-spot to 20 replicas of 1 CPU each, and a service of 4.5 CPU")
	err := d.grow(ctx, firstPods-1, func() error {
		return errors.Join(d.scale(ctx, 5, "inflate"), d.scale(ctx, 20, "inflate-spot"), d.deploy(ctx, service(services()[0])))
	})
	if err == nil {
		err = d.deployLedger(ctx)
	}
	if err == nil {
		err = d.running(ctx, firstPods)
	}
	if err != nil {
		return err
	}
	d.say("ledger, a pod that nobody may evict, runs beside inflate")
	return nil
}

// scaleFurther takes the cluster to all pods, while the types that were launched first
// have no capacity. The reports need no new node. No pod of a kind that was evicted a
// moment ago is launched for: the daemon would take its move for undone, and pause.
func (d *demo) scaleFurther(ctx context.Context) error {
	d.title("Scale up: inflate to 40 replicas, a third service, and three reports of 3 CPU beside the services")
	d.starve()
	err := d.grow(ctx, morePods, func() error {
		return errors.Join(d.scale(ctx, 40, "inflate"), d.deploy(ctx, service(services()[2])))
	})
	if err == nil {
		err = d.deploy(ctx, fillers())
	}
	if err == nil {
		err = d.running(ctx, morePods+3)
	}
	if err != nil {
		return err
	}
	d.say("the reports run beside the services, and fill their nodes")
	return d.noDoubleLaunch(ctx)
}

// grow asks for pods, and waits until so many run.
func (d *demo) grow(ctx context.Context, pods int, ask func() error) error {
	began := time.Now()
	if err := ask(); err != nil {
		return err
	}
	if err := d.running(ctx, pods); err != nil {
		return err
	}
	d.tell()
	d.say("all %d pods run, %.1f s after the scale-up", pods, time.Since(began).Seconds())
	d.fleet(ctx)
	return nil
}

// starve takes the capacity of the types that were launched so far away, so
// that the next launches have to find others.
func (d *demo) starve() {
	taken := map[string]bool{}
	for _, i := range d.instances() {
		key := i.Type + " " + capacityType(i)
		if taken[key] {
			continue
		}
		taken[key] = true
		for _, zone := range []string{"a", "b", "c"} {
			d.lab.Cloud.EC2.SetCapacity(capacityType(i), i.Type, region+zone, 0)
		}
		d.say("From now on EC2 has no capacity for %s (%s)", i.Type, capacityType(i))
	}
}

// noDoubleLaunch checks that no NodeClaim was launched twice and none is empty.
func (d *demo) noDoubleLaunch(ctx context.Context) error {
	claims, err := d.clients.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodeclaims list: %w", err)
	}
	byClaim := map[string]int{}
	for _, i := range d.instances() {
		byClaim[i.Tags["karpenterd.sh/nodeclaim-uid"]]++
	}
	for _, c := range claims.Items {
		if n := byClaim[string(c.UID)]; n != 1 {
			return fmt.Errorf("demo check failed: NodeClaim %s has %d instances", c.Name, n)
		}
	}
	return d.check(len(byClaim) == len(claims.Items), "%d NodeClaims have one instance each, and there is no other", len(claims.Items))
}

// interrupt announces the end of a spot instance and watches its replacement
// come before EC2 takes it.
func (d *demo) interrupt(ctx context.Context) error {
	d.title("A spot interruption: the node is replaced before EC2 takes it")
	var victim ec2sim.Instance
	for _, i := range d.instances() {
		if i.Spot {
			victim = i
		}
	}
	if victim.ID == "" {
		return fmt.Errorf("demo check failed: no spot instance runs")
	}
	before := len(d.instances())
	began := time.Now()
	if err := d.lab.Cloud.EC2.WarnSpot(victim.ID); err != nil {
		return fmt.Errorf("spot warning send: %w", err)
	}
	d.say("EC2 warns %s (%s in %s): it is terminated in %s; meanwhile a second service comes", victim.ID, victim.Type, victim.Zone, d.spotNotice())
	if err := d.deploy(ctx, service(services()[1])); err != nil {
		return err
	}
	name := victim.Tags["karpenter.sh/nodeclaim"]
	if err := d.until(ctx, "the NodeClaim of the warned instance to be deleted", func() (bool, string, error) {
		list, err := d.clients.NodeClaims.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", fmt.Errorf("nodeclaims list: %w", err)
		}
		for _, c := range list.Items {
			if c.Name == name {
				return false, name + " is still there", nil
			}
		}
		return true, "", nil
	}); err != nil {
		return err
	}
	d.tell()
	d.timeline.mu.Lock()
	left := d.spotNotice() - d.timeline.ended[victim.ID].Sub(began)
	d.timeline.mu.Unlock()
	if err := d.check(left > 0, "node drained and instance ended %.1f s before EC2 would have taken it", left.Seconds()); err != nil {
		return err
	}
	if err := d.running(ctx, firstPods+1); err != nil {
		return err
	}
	return d.check(len(d.instances()) > before, "all %d pods run, on %d instances (%d before the warning, and one for the service)", firstPods+1, len(d.instances()), before)
}

// destroy takes everything away, the last nodes too, and looks for what is left.
func (d *demo) destroy(ctx context.Context) error {
	d.title("Destroy: nothing is left behind")
	if err := d.scale(ctx, 0, append(services(), ledger)...); err != nil {
		return err
	}
	d.say("the last pods are scaled to 0; %d nodes are up", len(d.instances()))
	_, took, err := d.tofu.run(ctx, []int{0}, "destroy", "-no-color", "-auto-approve")
	if err != nil {
		return err
	}
	d.say("destroyed in %.1f s, with the nodes", took.Seconds())
	left, err := d.leftovers(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("demo check failed: left in AWS: %s", strings.Join(left, ", "))
	}
	groups, err := d.core.Discovery().ServerGroups()
	if err != nil {
		return fmt.Errorf("api groups list: %w", err)
	}
	for _, g := range groups.Groups {
		if g.Name == v1.Group || strings.HasPrefix(g.Name, "karpenter.k8s.aws") {
			return fmt.Errorf("demo check failed: the cluster still serves %s", g.Name)
		}
	}
	return d.check(true, "AWS has no instance, volume, launch template, role, profile, queue, rule or tag of the cluster, and Kubernetes none of its kinds; the role of EC2 Spot stays in the account")
}
