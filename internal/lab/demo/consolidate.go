package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// servicePool is the NodePool of services.tf.
const servicePool = "services"

// consolidate scales down to a few pods. Empty nodes are deleted, one new node replaces those
// that are half empty, and one stays because of a PodDisruptionBudget.
func (d *demo) consolidate(ctx context.Context) error {
	d.title("Scale down: empty nodes are deleted, one node replaces three, and a PodDisruptionBudget keeps its node")
	old := d.instancesOf(servicePool)
	began := time.Now()
	if err := d.scale(ctx, 0, reports, "inflate", "inflate-spot"); err != nil {
		return err
	}
	d.say("reports, inflate and inflate-spot are scaled to 0. Left are the services (%s), each alone on a node of 8 vCPU that it half fills, and ledger, which a PodDisruptionBudget with minAvailable: 1 protects", strings.Join(services(), ", "))
	if err := d.until(ctx, "the fleet to follow", d.followed(ctx, old)); err != nil {
		return err
	}
	if err := d.running(ctx, len(services())+1); err != nil {
		return err
	}
	d.tell()
	d.say("the fleet has followed, %.1f s after the scale-down", time.Since(began).Seconds())
	d.fleet(ctx)
	if err := d.saved(old); err != nil {
		return err
	}
	return d.kept(ctx)
}

// followed says whether the old nodes of the services are deleted, and beside their new
// ones only the ledger's node is left.
func (d *demo) followed(ctx context.Context, old []ec2sim.Instance) func() (bool, string, error) {
	return func() (bool, string, error) {
		list, err := d.clients.NodeClaims.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", fmt.Errorf("nodeclaims list: %w", err)
		}
		going := 0
		for _, c := range list.Items {
			if slices.Contains(claimsOf(old), c.Name) {
				going++
			}
		}
		others := len(d.instances()) - len(d.instancesOf(servicePool))
		return going == 0 && others == 1, fmt.Sprintf("%d of %d half-empty nodes are left, and %d nodes of other pools, want 0 and 1", going, len(old), others), nil
	}
}

// saved checks that fewer nodes have replaced the old ones in one move, for less money.
func (d *demo) saved(old []ec2sim.Instance) error {
	now := d.instancesOf(servicePool)
	before, after := d.price(old), d.price(now)
	ok := len(old) > 1 && len(now) > 0 && len(now) < len(old) && after < before
	if err := d.check(ok, "%d nodes were deleted and %d came: %s/h became %s/h, which saves %s/h", len(old), len(now), before.Dollars(), after.Dollars(), (before - after).Dollars()); err != nil {
		return err
	}
	bound := ""
	for _, name := range claimsOf(now) {
		move, proof := d.moveOf(name)
		for _, gone := range claimsOf(old) {
			if !slices.Contains(strings.Fields(move), gone) {
				return fmt.Errorf("demo check failed: the daemon did not launch %s to replace %s, but for move %q", name, gone, move)
			}
		}
		bound = proof
	}
	return d.check(strings.Contains(bound, "cannot cost less than"), "it was one move, with a proven lower bound: %s", bound)
}

// moveOf returns what the daemon logged about the launch of the NodeClaim: the move that
// it is part of, and how far its plan is from the lower bound.
func (d *demo) moveOf(claim string) (move, proof string) {
	all := d.decisions()
	i := slices.IndexFunc(all, func(x decision) bool { return x.Message == launchMessage && x.NodeClaim == claim })
	if i < 0 {
		return "", ""
	}
	if j := slices.IndexFunc(all[i:], func(x decision) bool { return x.Message == costMessage }); j >= 0 {
		proof = all[i+j].Why
	}
	return all[i].Move, proof
}

// kept checks that the ledger's node stays, and that the daemon says why to whoever asks.
func (d *demo) kept(ctx context.Context) error {
	node, err := d.nodeOf(ctx, ledger)
	if err != nil {
		return err
	}
	words, err := d.ask(ctx, "node", node)
	if err != nil {
		return err
	}
	d.say("$ karpenterd explain node %s", node)
	d.say("  %s", words)
	return d.check(strings.Contains(words, "stays: PodDisruptionBudget "+namespace+"/"+ledger+" "), "the ledger's node stays, and the daemon names the PodDisruptionBudget")
}

// ask runs "karpenterd explain" as a user does, with a kubeconfig alone.
func (d *demo) ask(ctx context.Context, what, name string) (string, error) {
	d.asked++
	log := fmt.Sprintf("%s/explain-%d.log", d.lab.Dir, d.asked)
	process, err := d.lab.Processes.Start(proc.Spec{Name: "karpenterd explain", Path: d.daemon, Args: []string{"explain", "--kubeconfig", d.lab.Kubeconfig, what, name}, LogFile: log})
	if err != nil {
		return "", err
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Stop(stopGrace)
		return "", fmt.Errorf("karpenterd explain: %w", ctx.Err())
	}
	printed, err := os.ReadFile(log)
	if err != nil || process.ExitCode() != 0 {
		return "", fmt.Errorf("karpenterd explain %s %s: exit %d: %s: %w", what, name, process.ExitCode(), printed, err)
	}
	return strings.TrimSpace(string(printed)), nil
}

// instancesOf are the instances of a NodePool that are not on their way out.
func (d *demo) instancesOf(pool string) []ec2sim.Instance {
	return slices.DeleteFunc(d.instances(), func(i ec2sim.Instance) bool { return i.Tags["karpenter.sh/nodepool"] != pool })
}

func claimsOf(list []ec2sim.Instance) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.Tags["karpenter.sh/nodeclaim"]
	}
	return out
}

// price is what the instances cost an hour.
func (d *demo) price(list []ec2sim.Instance) (sum quantity.Money) {
	for _, i := range list {
		sum = sum.Add(d.timeline.prices[i.Type+" "+capacityType(i)+" "+i.Zone])
	}
	return sum
}
