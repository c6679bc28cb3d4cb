// Command karpenterd is the in-cluster daemon: it provisions nodes just in
// time, replaces interrupted and outdated ones, and removes those that cost more than
// they are worth. On a user's machine it is the command line of the daemon, also as a plugin
// of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version and imageDigest are set when the program is linked. imageDigest is that of the image of
// the same release, which the image itself cannot know.
var (
	version     = "dev"
	imageDigest string //nolint:gochecknoglobals // only the linker writes it
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends what waits for standard input
	code := execute(ctx, os.Args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Getenv)
	stop()
	os.Exit(code)
}
