package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var r request
	flag.StringVar(&r.repository, "repository", "", "where the image belongs: registry/path, without a tag")
	flag.StringVar(&r.base, "base", "", "base image by digest, name@sha256:...; empty: the one of base.txt")
	names := flag.String("architectures", "", "architectures that the image is for, such as amd64,arm64; empty: all")
	flag.StringVar(&r.version, "version", "", "version that the daemon says, and tag of the image; empty: dev, and no tag")
	flag.StringVar(&r.out, "out", "", "folder for the image (oci), its bills of material (sbom) and its references; replaced")
	flag.StringVar(&r.source, "source", "", "top of the source; empty: the checkout that the working directory is in")
	flag.BoolVar(&r.push, "push", false, "push the image to the repository")
	flag.BoolVar(&r.sign, "sign", false, "sign what was pushed with cosign, by its digest")
	renew := flag.String("renew", "", "build nothing: write the digest that the base has now into this file, which names it")
	local := flag.Bool("serve", false, "build nothing: serve a registry on loopback that has a base made here, until the input ends")
	flag.Parse()
	r.architectures = chosen(*names)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case *renew != "":
		err = renewBase(ctx, os.Stdout, *renew)
	case *local:
		err = serve(ctx, os.Stdout, os.Stdin)
	default:
		err = image(ctx, r)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func image(ctx context.Context, r request) error {
	digest, err := r.run(ctx, os.Stderr)
	if err == nil {
		fmt.Println("IMAGE_DIGEST=" + digest)
	}
	return err
}
