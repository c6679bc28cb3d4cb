package main

import (
	"context"
	_ "embed" // base.txt
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// pinnedBase is the file that names the base by digest. A release and a build of the same
// source stand on the same base.
//
//go:embed base.txt
var pinnedBase string

var errNoBase = errors.New("the file names no base")

// baseOf reads the reference: the one line that is no comment.
func baseOf(text string) (string, error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line, nil
		}
	}
	return "", errNoBase
}

// renewBase writes the digest that the base's tag has now into the file, if that base fits.
func renewBase(ctx context.Context, w io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("base read: %w", err)
	}
	old, err := baseOf(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	tagged, _, _ := strings.Cut(old, "@")
	tag, err := name.NewTag(tagged, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("%s names the base %q: write name:tag@sha256:..., so that the tag can be asked for: %w", file, old, err)
	}
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("base image %s cannot be fetched: %w", tag, err)
	}
	digest := tag.Context().Digest(found.Digest.String())
	if err := checkBase(ctx, digest, architectures()); err != nil {
		return err
	}
	renewed := tagged + "@" + found.Digest.String()
	if renewed == old {
		_, _ = fmt.Fprintf(w, "still %s\n", old)
		return nil
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, renewed, 1)), 0o600); err != nil {
		return fmt.Errorf("base write: %w", err)
	}
	_, _ = fmt.Fprintf(w, "was %s\nnow %s\n", old, renewed)
	return nil
}

// serve serves a registry on loopback that has a base made here, until the input ends: for
// rehearsals and for tests, which reach no other. w gets its address and the base.
func serve(ctx context.Context, w io.Writer, input io.Reader) error {
	registry, err := startLocal(ctx)
	if err != nil {
		return err
	}
	defer registry.close()
	base, err := scratchBase().push(ctx, registry.host)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "REGISTRY=%s\nBASE_IMAGE=%s\n", registry.host, base); err != nil {
		return fmt.Errorf("address say: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, input)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
	return nil
}
