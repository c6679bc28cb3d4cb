// Command tools prints the paths of the tools it is asked for, one a line, in
// the order asked; what is missing is built first. With -v it prints name,
// version, origin and path. Progress goes to standard error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

func main() {
	verbose := flag.Bool("v", false, "print name, version, origin and path")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, verbose bool, names []string) error {
	asked := make([]toolchain.Tool, 0, len(names))
	for _, n := range names {
		asked = append(asked, toolchain.Tool(n))
	}
	if len(asked) == 0 {
		for _, t := range toolchain.Tools() {
			fmt.Println(t)
		}
		return nil
	}
	found, err := toolchain.Ensure(ctx, os.Stderr, asked...)
	if err != nil {
		return err
	}
	for _, t := range asked {
		if verbose {
			fmt.Printf("%-24s %-10s %-18s %s\n", t, found[t].Version, found[t].Origin, found[t].Path)
			continue
		}
		fmt.Println(found[t].Path)
	}
	return nil
}
