package scalein

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

const (
	name      = "default" // of the class and the pool
	namespace = "default" // of the pods
	// patience is how long one step may take: the daemon's installation, the
	// scale-up, the scale-down.
	patience = 5 * time.Minute
	// calm is how long nothing must have happened for the scale-up to be over; uneasy is
	// how long that is waited for once all pods run.
	calm, uneasy = 15 * time.Second, 90 * time.Second
	writers      = 16
	every        = time.Second
)

// pool sells what the published figures were measured with: on-demand instances of
// the usual categories, up to 32 vCPU.
func (r *run) pool() *unstructured.Unstructured {
	term := func(key, operator string, values ...any) any {
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	disruption := map[string]any{"consolidationPolicy": r.Policy, "consolidateAfter": r.ConsolidateAfter}
	if r.Budget != "" {
		disruption["budgets"] = []any{map[string]any{"nodes": r.Budget}}
	}
	return deploy.Declare(v1.Group, v1.NodePoolKind, name, map[string]any{
		"disruption": disruption,
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": awsv1.Group, "kind": awsv1.EC2NodeClassKind, "name": name},
			"requirements": []any{
				term(v1.LabelCapacityType, "In", v1.CapacityTypeOnDemand),
				term("karpenter.k8s.aws/instance-category", "In", "c", "m", "r"),
				term("karpenter.k8s.aws/instance-generation", "Gt", "4"),
				term("karpenter.k8s.aws/instance-cpu", "Lt", "33"),
				term("kubernetes.io/arch", "In", "amd64"),
			},
		}},
	})
}

// each calls f for every app, some side by side.
func (r *run) each(ctx context.Context, f func(context.Context, app) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, a := range r.apps {
		group.Go(func() error { return f(ctx, a) })
	}
	return group.Wait()
}

// scaleUp creates the Deployments, and waits until all pods run and the fleet keeps
// still, if it does so soon.
func (r *run) scaleUp(ctx context.Context) (up, error) {
	want := count(r.apps, 1)
	r.say("create %d pods of %d Deployments", want, len(r.apps))
	began := time.Now()
	err := r.each(ctx, func(ctx context.Context, a app) error {
		_, err := r.core.AppsV1().Deployments(namespace).Create(ctx, a.deployment(int64(r.Grace/time.Second)), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("deployment %s create: %w", a.name, err)
		}
		return nil
	})
	if err != nil {
		return up{}, err
	}
	u := up{Pods: want, Deployments: len(r.apps)}
	err = r.until(ctx, fmt.Sprintf("%d pods to run", want), func() bool {
		now := r.seen.now()
		if now.Running == want && u.Seconds == 0 {
			u.Seconds = seconds(time.Since(began))
			r.say("all pods run after %.0f s, on %d instances for $%.2f/h", u.Seconds, now.Instances, now.Cost)
		}
		u.Calm = time.Since(r.seen.moved()) >= calm
		return now.Running == want && now.Waiting == 0 && (u.Calm || seconds(time.Since(began)) > u.Seconds+uneasy.Seconds())
	})
	last := r.seen.now()
	u.Instances, u.Cost = last.Instances, last.Cost
	return u, err
}

// until samples once a second until done, a step's patience at most.
func (r *run) until(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			now := r.seen.now()
			return fmt.Errorf("wait for %s: %w: %d run and %d do not, on %d instances; the end of the log of %s:\n%s",
				what, ctx.Err(), now.Running, now.Waiting, now.Instances, r.of.Name, r.of.Log())
		case <-time.After(every):
		}
	}
	return nil
}

// scaleDown scales the Deployments down and observes the fleet.
func (r *run) scaleDown(ctx context.Context) (findings, error) {
	want := count(r.apps, r.Share)
	r.say("scale down to %d pods, and observe the fleet for %s", want, r.Watch)
	r.seen.record()
	err := r.each(ctx, func(ctx context.Context, a app) error {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, a.left(r.Share))
		if _, err := r.core.AppsV1().Deployments(namespace).Patch(ctx, a.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("deployment %s scale: %w", a.name, err)
		}
		return nil
	})
	if err != nil {
		return findings{}, err
	}
	var samples []sample
	err = r.until(ctx, fmt.Sprintf("%d pods to be left", want), func() bool {
		samples = append(samples, r.seen.now())
		last := samples[len(samples)-1]
		return last.Running+last.Waiting <= want
	})
	if err != nil {
		return findings{}, err
	}
	began := r.seen.ended()
	r.say("the scale-down ended its last pod; $%.2f/h", samples[len(samples)-1].Cost)
	for end := began.Add(r.Watch); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return findings{}, ctx.Err()
		case <-time.After(every):
		}
		samples = append(samples, r.seen.now())
		if n := len(samples); n%30 == 0 {
			last := samples[n-1]
			r.say("%.0f s: $%.2f/h, %d instances, %d pods run", seconds(last.at.Sub(began)), last.Cost, last.Instances, last.Running)
		}
	}
	bound, err := r.of.Bound(ctx)
	if err != nil {
		return findings{}, err
	}
	f := r.seen.findings(r.Options, want, began, samples, bound)
	f.Subject = r.of.Name
	return f, nil
}
