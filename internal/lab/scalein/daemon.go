package scalein

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// boundMetric is the daemon's proof for the whole fleet.
const boundMetric = "karpenterd_fleet_bound_dollars_per_hour"

// daemon is karpenterd as the subject of a measurement.
type daemon struct {
	Options
	lab    *lab.Lab
	binary string
}

// Run plays the scenario with the daemon and prints what came of it as JSON. It leaves
// nothing behind, whether it succeeds or not.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	binary, err := toolchain.Self(ctx, o.Progress, "./daemon/cmd/karpenterd")
	if err != nil {
		return err
	}
	started := o.Lab()
	started.DaemonBinary = binary
	l, err := lab.Start(ctx, started)
	if err != nil {
		return err
	}
	d := &daemon{o, l, binary}
	defer func() { err = errors.Join(err, deploy.KeepLog(l, d.LogTo), l.Close()) }()
	if err := d.install(ctx); err != nil {
		return err
	}
	return Measure(ctx, o, Subject{Name: install.DefaultName, Lab: l, Command: d.binary, Bound: d.bound, Log: d.logTail})
}

// install deploys the daemon and its class, and waits until the daemon runs.
func (d *daemon) install(ctx context.Context) error {
	options, err := deploy.Account(ctx, d.lab)
	if err != nil {
		return err
	}
	options.Replicas, options.NodeCost, options.LogLevel = 1, d.NodeCost, d.LogLevel
	objects, err := install.Objects(options)
	if err != nil {
		return err
	}
	applier, err := kube.NewApplier(deploy.Unlimited(d.lab))
	if err != nil {
		return err
	}
	if err := apply(ctx, applier, kube.RolledOut, objects...); err != nil {
		return err
	}
	return apply(ctx, applier, kube.ConditionTrue("Ready"), deploy.NodeClass(d.lab, name))
}

// bound reads from the daemon what any fleet for the pods costs at least.
func (d *daemon) bound(ctx context.Context) (float64, error) {
	core, err := kubernetes.NewForConfig(deploy.Unlimited(d.lab))
	if err != nil {
		return 0, fmt.Errorf("client create: %w", err)
	}
	pods, err := core.CoreV1().Pods(install.DefaultNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("daemon's pods list: %w", err)
	}
	for _, p := range pods.Items {
		process, there := d.lab.Processes.Find(p.Name + "/" + install.DefaultName)
		if !there || !process.Running() {
			continue
		}
		url, err := deploy.MetricsURL(process.PID)
		if err != nil {
			return 0, err
		}
		values, err := deploy.Metrics(ctx, url, boundMetric)
		if err != nil {
			return 0, err
		}
		return values[0], nil
	}
	return 0, errors.New("daemon's metrics read: the daemon does not run; the end of its log:\n" + d.logTail())
}

func (d *daemon) logTail() string {
	text, err := deploy.Log(d.lab)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
