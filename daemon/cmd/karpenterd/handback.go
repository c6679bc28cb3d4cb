package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/handback"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// lookAgain is how long "handback" waits until it looks again for nodes that are to join.
const lookAgain = 2 * time.Second

// giveBack is the command "handback": it takes out of the cluster's objects what Karpenter
// would never remove.
func giveBack(ctx context.Context, args []string, s streams) error {
	flags := flag.NewFlagSet("handback", flag.ContinueOnError)
	flags.SetOutput(s.err)
	dry := flags.Bool("dry-run", false, "say what would be done, and do nothing")
	wait := flags.Duration("wait", 5*time.Minute, "how long to wait for nodes that are launched and still to join: their startup taint is removed then")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	if *wait < 0 {
		return fmt.Errorf("handback: --wait is %s: give a time such as 5m, or 0 for none", *wait)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("handback: unknown argument %q: the command takes the cluster from KUBECONFIG, or from the pod that it runs in", flags.Arg(0))
	}
	rest, err := kube.DaemonConfig()
	if err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	clients, err := kube.NewClients(rest)
	if err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	if err := (&handback.Handback{Clients: clients, Out: s.out, DryRun: *dry, Wait: *wait, Look: lookAgain}).Run(ctx); err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	end := "the cluster is handed back: Karpenter can start"
	if *dry {
		end = "nothing was changed (--dry-run)"
	}
	_, err = fmt.Fprintln(s.out, end)
	return err
}
