// Command size measures what the daemon takes in a large cluster and prints it
// beside what is required of it.
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

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/size"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	o := size.Default()
	o.Out = out
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes, half of them of NodeClaims, all of them with -karpenter")
	flags.IntVar(&o.Pods, "pods", o.Pods, "pods that run on them")
	flags.IntVar(&o.Apps, "apps", o.Apps, "Deployments that the pods belong to")
	flags.BoolVar(&o.Karpenter, "karpenter", o.Karpenter, "have the NodeClaims and instances be what Karpenter left, and say what became of them")
	fleet := flags.Int("fleet", 0, "in place of all that: have so many nodes launched and ended in a whole laboratory whose machines boot at once")
	flags.DurationVar(&o.Watch, "watch", o.Watch, "how long the daemon is watched after its first decision")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: it takes flags only", flags.Arg(0))
	}
	if *fleet != 0 {
		return size.Fleet(ctx, o, *fleet)
	}
	return size.Run(ctx, o)
}
