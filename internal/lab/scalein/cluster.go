package scalein

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

const (
	name      = "default" // of the class and the pool
	namespace = "default" // of the pods
	// patience is how long one step may take: the daemon's installation, the
	// scale-up, the scale-down.
	patience = 5 * time.Minute
	// calm is how long nothing must have happened for the scale-up to be over.
	calm    = 15 * time.Second
	writers = 16
	every   = time.Second
	// boundMetric is the daemon's proof for the whole fleet.
	boundMetric = "karpenterd_fleet_bound_dollars_per_hour"
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
// still.
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
		return now.Running == want && now.Waiting == 0 && time.Since(r.seen.moved()) >= calm
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
			return fmt.Errorf("wait for %s: %w: %d run and %d do not, on %d instances; the end of the daemon's log:\n%s",
				what, ctx.Err(), now.Running, now.Waiting, now.Instances, r.logTail())
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
	bound, err := r.bound(ctx)
	if err != nil {
		return findings{}, err
	}
	return r.seen.findings(r.Options, want, began, samples, bound), nil
}

// bound reads from the daemon what any fleet for the pods costs at least.
func (r *run) bound(ctx context.Context) (float64, error) {
	pods, err := r.core.CoreV1().Pods(install.DefaultNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("daemon's pods list: %w", err)
	}
	for _, p := range pods.Items {
		process, there := r.lab.Processes.Find(p.Name + "/" + install.DefaultName)
		if !there || !process.Running() {
			continue
		}
		url, err := deploy.MetricsURL(process.PID)
		if err != nil {
			return 0, err
		}
		return readMetric(ctx, url, boundMetric)
	}
	return 0, errors.New("daemon's metrics read: the daemon does not run; the end of its log:\n" + r.logTail())
}

func readMetric(ctx context.Context, url, metric string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("daemon's metrics read: %w", err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("daemon's metrics read: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Errorf("daemon's metrics read: %w", err)
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, metric+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("daemon's metrics read: no %s", metric)
}

// log is what the daemon has written.
func (r *run) log() ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(r.lab.LogDir(), install.DefaultNamespace+"_*_"+install.DefaultName+".log"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	return os.ReadFile(files[0])
}

func (r *run) logTail() string {
	text, err := r.log()
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// keepLog copies the daemon's log to where the options want it.
func (r *run) keepLog() error {
	if r.LogTo == "" {
		return nil
	}
	text, err := r.log()
	if err != nil {
		return fmt.Errorf("daemon's log read: %w", err)
	}
	return os.WriteFile(r.LogTo, text, 0o600)
}
