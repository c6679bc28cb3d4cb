package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/handback"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// giveBack is the command "handback": it takes out of the cluster's objects what Karpenter
// would never remove.
func giveBack(ctx context.Context, args []string, s streams) error {
	flags := flag.NewFlagSet("handback", flag.ContinueOnError)
	flags.SetOutput(s.err)
	dry := flags.Bool("dry-run", false, "say what would be done, and do nothing")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("handback: %w", err)
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
	if err := (&handback.Handback{Clients: clients, Out: s.out, DryRun: *dry}).Run(ctx); err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	end := "the cluster is handed back: Karpenter can start"
	if *dry {
		end = "nothing was changed (--dry-run)"
	}
	_, err = fmt.Fprintln(s.out, end)
	return err
}
