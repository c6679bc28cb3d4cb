// Command python makes the environment of the outside judges where it is not
// there yet, with progress on standard error, and prints its interpreter.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/judge"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	interpreter, err := judge.Python(ctx, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(interpreter)
}
