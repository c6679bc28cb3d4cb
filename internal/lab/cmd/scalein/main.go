// Command scalein measures what the daemon makes of a fleet whose pods are scaled
// down, and prints it as JSON on standard output; what is going on it tells on
// standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/scalein"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scalein:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	o := scalein.Default()
	o.Out, o.Progress = out, errOut
	flags := flag.NewFlagSet("scalein", flag.ContinueOnError)
	flags.SetOutput(errOut)
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: it takes flags only", flags.Arg(0))
	}
	return scalein.Run(ctx, o)
}
