package scalein

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

// leastWatch is longer than the daemon takes between two proofs of its bound.
const leastWatch = 70 * time.Second

// mostPods is what a laboratory on two cores still runs at its ease.
const mostPods = 3000

// Options are the scenario.
type Options struct {
	Seed             uint64        // of Deployments that are drawn; 0: those of the published figures
	Pods             int           // of drawn Deployments
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
		Pods: 500, Share: 0.2, Policy: "WhenEmptyOrUnderutilized", ConsolidateAfter: "0s", Budget: "10%", NodeCost: "0",
		Start: lab.AtOnce, Stop: lab.AtOnce, Boot: 2 * time.Second, ControllerQPS: 500, Watch: 90*time.Second + 5*time.Minute, LogLevel: install.DefaultLogLevel,
	}
}

func (o Options) check() error {
	switch {
	case o.Share <= 0 || o.Share >= 1:
		return fmt.Errorf("scale-in run: share %g: give a number above 0 and below 1", o.Share)
	case o.Seed != 0 && (o.Pods < 1 || o.Pods > mostPods):
		return fmt.Errorf("scale-in run: %d pods: give 1 to %d", o.Pods, mostPods)
	case o.Watch < leastWatch:
		return fmt.Errorf("scale-in run: watch %s: give at least %s: the daemon proves its bound once a minute", o.Watch, leastWatch)
	case o.Boot <= 0 || o.Grace < 0 || o.Grace%time.Second != 0 || o.ControllerQPS < 0:
		return errors.New("scale-in run: give a boot time above zero, a grace period of whole seconds, and requests a second that are not negative")
	}
	return nil
}

// Flags declares the options as flags.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "draws Deployments of the same kind; 0: those of the published figures")
	flags.IntVar(&o.Pods, "pods", o.Pods, "pods of the drawn Deployments")
	flags.Float64Var(&o.Share, "share", o.Share, "of its replicas that each Deployment keeps")
	flags.StringVar(&o.Policy, "policy", o.Policy, "consolidationPolicy of the pool")
	flags.StringVar(&o.ConsolidateAfter, "after", o.ConsolidateAfter, "consolidateAfter of the pool")
	flags.StringVar(&o.Budget, "budget", o.Budget, "nodes of the pool's disruption budget; empty: none is given")
	flags.StringVar(&o.NodeCost, "node-cost", o.NodeCost, "dollars an hour that the daemon adds for each node; its bound counts them")
	flags.DurationVar(&o.Start, "start", o.Start, "how long an instance is pending; below zero: it runs at once")
	flags.DurationVar(&o.Stop, "stop", o.Stop, "how long an instance is shutting down; below zero: it is gone at once")
	flags.DurationVar(&o.Boot, "boot", o.Boot, "from an instance that runs to its node joining")
	flags.DurationVar(&o.Grace, "grace", o.Grace, "termination grace period of the pods")
	flags.IntVar(&o.ControllerQPS, "controller-qps", o.ControllerQPS, "requests a second of the controller manager; 0: its default")
	flags.DurationVar(&o.Watch, "watch", o.Watch, "how long the fleet is observed after the scale-down")
	flags.StringVar(&o.LogLevel, "log-level", o.LogLevel, "of the daemon")
	flags.StringVar(&o.LogTo, "log", o.LogTo, "file that gets the daemon's log; empty: none")
}

// Lab is how the laboratory of the scenario starts.
func (o *Options) Lab() lab.Options {
	return lab.Options{
		Logger: hclog.NewNullLogger(), Progress: o.Progress, StartTime: o.Start, StopTime: o.Stop, BootDelay: o.Boot, ControllerQPS: o.ControllerQPS,
	}
}

// Subject is what is measured: a controller that runs in a laboratory of its own, where the
// class default is ready.
type Subject struct {
	Name string
	Lab  *lab.Lab
	// Command is the built karpenterd, which is asked what is to come before the scale-down. Ours is
	// what the daemon made of the same pods; nil where it is the subject.
	Command string
	Ours    *Outcome
	Bound   func(context.Context) (float64, error) // dollars an hour that any fleet costs for the pods
	Log     func() string                          // the end of the controller's log
}

// run is one measurement.
type run struct {
	Options
	of      Subject
	apps    []app
	core    kubernetes.Interface // speaks protobuf, without a rate limit
	applier *kube.Applier
	seen    *observer
}

// Measure plays the scenario with the subject and prints what came of it as JSON.
func Measure(ctx context.Context, o Options, s Subject) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	r := &run{Options: o, of: s}
	if r.apps, err = o.apps(); err != nil {
		return err
	}
	if err := r.connect(); err != nil {
		return err
	}
	if r.seen, err = observe(ctx, s.Lab, r.core); err != nil {
		return err
	}
	if err := apply(ctx, r.applier, kube.ConditionTrue("Ready"), r.pool()); err != nil {
		return err
	}
	up, err := r.scaleUp(ctx)
	if err != nil {
		return err
	}
	told, err := r.foretell(ctx)
	if err != nil {
		return err
	}
	f, err := r.scaleDown(ctx)
	if err != nil {
		return err
	}
	f.Up, f.Forecast = up, told
	f.holdForecast(s.Ours)
	r.say("foretold $%.2f/h on %d instances, really $%.2f/h on %d: %+.1f %%", told.Cost, told.Instances, told.RealCost, told.RealInstances, 100*told.Difference)
	return f.print(o.Out)
}

func (r *run) connect() error {
	config := deploy.Unlimited(r.of.Lab)
	var err error
	if r.applier, err = kube.NewApplier(config); err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if r.core, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	return nil
}

// apply is deploy.Apply within the patience for one step.
func apply(ctx context.Context, applier *kube.Applier, done kube.Check, objects ...*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return deploy.Apply(ctx, applier, done, objects...)
}

// say tells people what is going on.
func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Progress, "scale-in: "+format+"\n", args...)
}
