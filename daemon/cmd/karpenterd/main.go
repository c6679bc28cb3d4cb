// Command karpenterd is the in-cluster daemon: it provisions nodes just in
// time, replaces interrupted ones and removes empty ones.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// version is set when the program is linked.
var version = "dev"

const usage = `usage: karpenterd <command>

  run       work for the cluster that the environment names (see "karpenterd run -h")
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
	case "version":
		fmt.Println(version, runtime.Version())
		return nil
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("unknown command %q", name)
}
