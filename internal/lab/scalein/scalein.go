package scalein

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// leastWatch is longer than the daemon takes between two proofs of its bound.
const leastWatch = 70 * time.Second

// Options are the scenario.
type Options struct {
	Share            float64       // of its replicas that each Deployment keeps
	Policy           string        // consolidationPolicy of the pool
	ConsolidateAfter string        // of the pool
	Budget           string        // nodes of the pool's only budget; empty: the pool has none
	NodeCost         string        // of the daemon; its bound counts it
	Start, Stop      time.Duration // of instances, from pending to running and from shutting down to terminated
	Boot             time.Duration // from an instance that runs to its node joining
	Grace            time.Duration // of pods, in whole seconds
	ControllerQPS    int           // of the controller manager; 0: its default
	Watch            time.Duration // how long the fleet is observed after the scale-down
	LogLevel         string        // of the daemon
	LogTo            string        // file that gets the daemon's log; empty: none
	Out              io.Writer     // gets the JSON
	Progress         io.Writer     // what is going on, for people
}

// Default is the scenario that the requirement is about.
func Default() Options {
	return Options{
		Share: 0.2, Policy: "WhenEmptyOrUnderutilized", ConsolidateAfter: "0s", Budget: "10%", NodeCost: "0",
		Start: lab.AtOnce, Stop: lab.AtOnce, Boot: 2 * time.Second, ControllerQPS: 500, Watch: 90*time.Second + 5*time.Minute, LogLevel: install.DefaultLogLevel,
	}
}

func (o Options) check() error {
	switch {
	case o.Share <= 0 || o.Share >= 1:
		return fmt.Errorf("scale-in run: share %g: give a number above 0 and below 1", o.Share)
	case o.Watch < leastWatch:
		return fmt.Errorf("scale-in run: watch %s: give at least %s: the daemon proves its bound once a minute", o.Watch, leastWatch)
	case o.Boot <= 0 || o.Grace < 0 || o.Grace%time.Second != 0 || o.ControllerQPS < 0:
		return errors.New("scale-in run: give a boot time above zero, a grace period of whole seconds, and requests a second that are not negative")
	}
	return nil
}

// run is one measurement.
type run struct {
	Options
	apps    []app
	lab     *lab.Lab
	core    kubernetes.Interface // speaks protobuf, without a rate limit
	applier *kube.Applier
	seen    *observer
}

// Run plays the scenario and prints what came of it as JSON. It leaves nothing
// behind, whether it succeeds or not.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	r := &run{Options: o}
	if r.apps, err = readApps(workload); err != nil {
		return err
	}
	binary, err := toolchain.Self(ctx, o.Progress, "./daemon/cmd/karpenterd")
	if err != nil {
		return err
	}
	r.lab, err = lab.Start(ctx, lab.Options{
		Logger: hclog.NewNullLogger(), DaemonBinary: binary, Progress: o.Progress, StartTime: o.Start, StopTime: o.Stop, BootDelay: o.Boot, ControllerQPS: o.ControllerQPS,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.keepLog(), r.lab.Close()) }()
	if err := r.connect(); err != nil {
		return err
	}
	if r.seen, err = observe(ctx, r.lab, r.core); err != nil {
		return err
	}
	if err := r.install(ctx); err != nil {
		return err
	}
	up, err := r.scaleUp(ctx)
	if err != nil {
		return err
	}
	f, err := r.scaleDown(ctx)
	if err != nil {
		return err
	}
	f.Up = up
	return f.print(o.Out)
}

func (r *run) connect() error {
	unlimited := rest.CopyConfig(r.lab.AdminConfig)
	unlimited.QPS = -1
	var err error
	if r.applier, err = kube.NewApplier(unlimited); err != nil {
		return err
	}
	unlimited.ContentType = "application/vnd.kubernetes.protobuf"
	if r.core, err = kubernetes.NewForConfig(unlimited); err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	return nil
}

// install deploys the daemon, and waits until class and pool are ready.
func (r *run) install(ctx context.Context) error {
	options, err := deploy.Account(ctx, r.lab)
	if err != nil {
		return err
	}
	options.Replicas, options.NodeCost, options.LogLevel = 1, r.NodeCost, r.LogLevel
	objects, err := install.Objects(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, o := range append(objects, deploy.NodeClass(r.lab, name), r.pool()) {
		if _, err := r.applier.Apply(ctx, o, false); err != nil {
			return err
		}
	}
	if _, err = r.applier.Wait(ctx, kube.RefOf(objects[len(objects)-1]), kube.RolledOut); err != nil {
		return err
	}
	_, err = r.applier.Wait(ctx, kube.RefOf(r.pool()), kube.ConditionTrue("Ready"))
	return err
}

// say tells people what is going on.
func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Progress, "scale-in: "+format+"\n", args...)
}
