package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/handback"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// lookAgain is how long "handback" waits until it looks again for nodes that are to join.
const lookAgain = 2 * time.Second

func handbackCommand(s streams) *cobra.Command {
	dry, wait := false, time.Duration(0)
	command := &cobra.Command{
		Use: "handback", Short: "give the cluster back to Karpenter: nodes stay",
		Long: "handback takes finalizers, taints and annotations of the daemon, which does not run any more, out\n" +
			"of the cluster, so that Karpenter can take it over. Nodes stay. It takes the cluster from KUBECONFIG,\n" +
			"or from the pod that it runs in, whose service account needs the rights: that of the daemon does\n" +
			"not have them.",
		Args: noArguments("the command takes the cluster from KUBECONFIG, or from the pod that it runs in"),
		RunE: func(c *cobra.Command, _ []string) error {
			if wait < 0 {
				return usageError{fmt.Errorf("handback: --wait is %s: give a time such as 5m, or 0 for none", wait)}
			}
			return giveBack(c.Context(), s, dry, wait)
		},
	}
	command.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	command.Flags().DurationVar(&wait, "wait", 5*time.Minute, "how long to wait for nodes that are launched and still to join: their startup taint is removed then")
	return command
}

// giveBack takes out of the cluster's objects what Karpenter would never remove.
func giveBack(ctx context.Context, s streams, dry bool, wait time.Duration) error {
	rest, err := kube.DaemonConfig()
	if err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	clients, err := kube.NewClients(rest)
	if err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	if err := (&handback.Handback{Clients: clients, Out: s.out, DryRun: dry, Wait: wait, Look: lookAgain}).Run(ctx); err != nil {
		return fmt.Errorf("handback: %w", err)
	}
	end := "the cluster is handed back: Karpenter can start"
	if dry {
		end = "nothing was changed (--dry-run)"
	}
	_, err = fmt.Fprintln(s.out, end)
	return err
}
