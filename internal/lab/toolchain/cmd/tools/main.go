// Command tools prints the paths of the tools it is asked for, one a line, in
// the order asked; what is missing is built first. With -v it prints name,
// version, origin and path. With -self it builds one of our own programs, named
// by its package as ./internal/lab/cmd/lab, and prints that path; with -lab it makes
// ready all that the laboratory's own program needs, side by side, and prints that
// program's path; with -cache it prints the folder that all of this is kept in.
// Progress goes to standard error. Without arguments it lists the tools it knows.
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
	self := flag.String("self", "", "build this package of ours and print the program's path")
	lab := flag.Bool("lab", false, "make everything ready that the laboratory's own program needs, and print its path")
	cache := flag.Bool("cache", false, "print the folder that built programs are kept in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case *cache:
		err = show(toolchain.CacheDir())
	case *lab:
		ready, failed := toolchain.Prepare(ctx, os.Stderr, toolchain.LabNeeds().With(toolchain.Lab))
		err = show(ready.Programs[toolchain.Lab], failed)
	case *self != "":
		err = show(toolchain.Self(ctx, os.Stderr, *self))
	default:
		err = run(ctx, *verbose, flag.Args())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}

func show(path string, err error) error {
	if err != nil {
		return err
	}
	fmt.Println(path)
	return nil
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
