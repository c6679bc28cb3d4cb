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
	o.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: it takes flags only", flags.Arg(0))
	}
	return scalein.Run(ctx, o)
}
