package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/replay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// panicked counts a decision that panicked, and keeps its input.
func (d *daemon) panicked(ctx context.Context) func(engine.Input, *replay.FaultError) {
	keeper := &replay.Keeper{
		Version: version, Write: d.store().KeepFault, Read: d.store().Fault, Logger: d.logger,
		Where: fmt.Sprintf("configmap %s/%s, key %s", d.config.Namespace, install.CatalogueName, market.FaultKey),
	}
	return func(in engine.Input, fault *replay.FaultError) {
		d.metrics.DecisionPanicked()
		keeper.Panicked(ctx, in, fault)
	}
}

// replayCommand is for who mends a fault: it makes a decision again that panicked on a cluster.
func replayCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "replay FILE", Short: "make a decision again that failed by a fault of the daemon", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			packed, err := os.ReadFile(args[0])
			if err != nil {
				return usageError{err}
			}
			return replayed(s.out, packed)
		},
	}
}

// replayed tells of the record and of what its decision does now.
func replayed(out io.Writer, packed []byte) error {
	r, err := replay.Unpack(packed)
	if err != nil {
		return err //nolint:wrapcheck // it says all
	}
	in, err := r.Input()
	if err != nil {
		return err //nolint:wrapcheck // it says all
	}
	o := r.Objects
	fmt.Fprintf(out, "version %s, %s: %s\n%d pods, %d nodes, %d nodeclaims, %d nodepools, %d nodeclasses\n", r.Version, r.At.UTC(), r.Says,
		len(o.Pods), len(o.Nodes), len(o.Claims), len(o.Pools), len(o.Classes))
	if fault := replay.Replay(engine.Step, in); fault != nil {
		return fault
	}
	fmt.Fprintln(out, "the decision does not fail")
	return nil
}
