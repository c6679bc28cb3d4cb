// Command chromium prints where the Chromium is in which tests look at the daemon's page. Where
// there is none and may be, it installs one first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/browser"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	path, err := browser.Install(ctx, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chromium:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
