// Command karpenterd is the in-cluster daemon: it provisions nodes just in
// time, replaces interrupted and outdated ones, and removes those that cost more than
// they are worth.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// version is set when the program is linked.
var version = "dev"

const usage = `usage: karpenterd <command>

  run       work for the cluster that the environment names (see "karpenterd run -h")
  explain   say why a node stays or goes, why no more nodes of a NodePool go, or
            what is planned for a pod and whether it keeps its node:
            explain [--address HOST:PORT] node NAME | pool NAME | pod NAMESPACE/NAME
  convert   write manifests of Karpenter's older APIs (v1alpha5, v1alpha1, v1beta1) as v1,
            or as Terraform configuration; warnings say what changes (see "karpenterd convert -h"):
            convert [--hcl] [--strict] [--instance-profile NAME | --role NAME] [FILE | FOLDER | -]...
  definitions
            write the custom resource definitions for kubectl apply; with --legacy those of
            the older kinds that the daemon serves, Provisioner and AWSNodeTemplate:
            definitions [--legacy]
  handback  take finalizers, taints and annotations of the daemon, which does not run any more,
            out of the cluster, so that Karpenter can take it over; nodes stay: handback [--dry-run]
  version   print the version
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenterd:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "run":
		config, err := readConfig(args[1:], os.Getenv)
		if err != nil {
			return err
		}
		if err := setMemory(os.Getenv); err != nil {
			return err
		}
		return run(ctx, config)
	case "explain":
		flags := flag.NewFlagSet("explain", flag.ContinueOnError)
		address := flags.String("address", fmt.Sprintf("127.0.0.1:%d", install.MetricsPort), "host and port of the daemon's metrics")
		if err := flags.Parse(args[1:]); err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		return telemetry.Explain(ctx, os.Stdout, *address, flags.Arg(0), flags.Arg(1))
	case "convert":
		return convert(args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	case "definitions":
		return definitions(args[1:], os.Stdout, os.Stderr)
	case "handback":
		return giveBack(ctx, args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	case "version":
		fmt.Println(version, runtime.Version())
		return nil
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("unknown command %q", name)
}
