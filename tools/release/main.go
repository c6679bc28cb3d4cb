package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

var errUsage = errors.New("usage: release bill|provenance|chart|rehearse [flags]")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, filepath.Base(os.Args[0]), os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run is one command. Under the name gpg, the program stands in for GnuPG.
func run(ctx context.Context, name string, args []string) error {
	if name == standIn {
		return signAs(os.Getenv(keyVariable), args)
	}
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	switch args[0] {
	case "bill":
		archive := flags.String("archive", "", "archive with one program")
		out := flags.String("out", "", "file to write")
		version := flags.String("version", "", "version of the release")
		_ = flags.Parse(args[1:])
		return writeBill(*archive, *version, *out)
	case "provenance":
		var p provenance
		sums := flags.String("sums", "", "checksums of the release")
		out := flags.String("out", "", "file to write")
		flags.StringVar(&p.version, "version", "", "version of the release")
		flags.StringVar(&p.commit, "commit", "", "commit that the release was built of")
		flags.StringVar(&p.imageDigest, "image", "", "digest of the daemon's image")
		_ = flags.Parse(args[1:])
		p.builder, p.invocation = builderOf(os.Getenv)
		return p.write(*sums, *out)
	case "chart":
		version := flags.String("version", "", "version of the release")
		digest := flags.String("image", "", "digest of the daemon's image")
		_ = flags.Parse(args[1:])
		return packChart(ctx, ".", *version, *digest)
	case "rehearse":
		targets := flags.String("targets", "", "platforms such as linux/amd64, separated by blanks; empty: all")
		_ = flags.Parse(args[1:])
		return rehearse(ctx, *targets)
	}
	return errUsage
}
