package main

import (
	"archive/tar"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// rootsFile is where Go looks for CA roots first, on Linux.
const rootsFile = "etc/ssl/certs/ca-certificates.crt"

// errBase means that a base does not fit the daemon.
var errBase = errors.New("the base image does not fit")

// architectures are those that EKS has nodes of.
func architectures() []string { return []string{"amd64", "arm64"} }

// chosen are the architectures of a list with commas, each once; all for an empty one.
func chosen(list string) []string {
	if list == "" {
		return architectures()
	}
	out := strings.Split(list, ",")
	slices.Sort(out)
	return slices.Compact(out)
}

// checkBase refuses a base before minutes are spent on it.
func checkBase(ctx context.Context, base name.Digest, wanted []string) error {
	for _, architecture := range wanted {
		image, err := remote.Image(base, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))
		if err != nil {
			return fmt.Errorf("base image %s for linux/%s cannot be fetched: %w: see that this machine reaches its registry, or name a copy by its digest as BASE_IMAGE, such as BASE_IMAGE=mirror.example.com/path@sha256:<digest>", base, architecture, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return fmt.Errorf("base image %s read: %w", base, err)
		}
		if config.Architecture != architecture {
			return fmt.Errorf("%w: %s has no image for linux/%s: give the digest of an index with linux/%s", errBase, base, architecture, strings.Join(wanted, " and linux/"))
		}
		if err := checkImage(image); err != nil {
			return fmt.Errorf("%s (linux/%s): %w", base, architecture, err)
		}
	}
	return nil
}

// checkIndex looks at what was built for the architectures.
func checkIndex(index v1.ImageIndex, wanted []string) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("image read: %w", err)
	}
	var found []string
	for _, m := range manifest.Manifests {
		if m.Platform == nil {
			return fmt.Errorf("image %s has no platform", m.Digest)
		}
		found = append(found, m.Platform.Architecture)
		image, err := index.Image(m.Digest)
		if err != nil {
			return fmt.Errorf("image %s read: %w", m.Digest, err)
		}
		if err := checkImage(image); err != nil {
			return fmt.Errorf("image for %s: %w", m.Platform, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return fmt.Errorf("image %s read: %w", m.Digest, err)
		}
		if entry := config.Config.Entrypoint; len(entry) != 1 || path.Base(entry[0]) != "karpenterd" {
			return fmt.Errorf("image for %s starts %q, and the Deployment counts on karpenterd", m.Platform, entry)
		}
	}
	if slices.Sort(found); !slices.Equal(found, wanted) {
		return fmt.Errorf("the image is for %v, and must be for %v", found, wanted)
	}
	return nil
}

// checkImage refuses root, a shell, and missing CA roots.
func checkImage(image v1.Image) error {
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("image read: %w", err)
	}
	if user, _, _ := strings.Cut(config.Config.User, ":"); user == "" || user == "0" || user == "root" {
		return fmt.Errorf("%w: it runs as root (user %q): take one with another user, such as the tag nonroot of a distroless image", errBase, config.Config.User)
	}
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	roots := 0
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("image unpack: %w", err)
		}
		file := strings.TrimPrefix(path.Clean(header.Name), "/")
		if slices.Contains([]string{"sh", "bash", "dash", "ash", "busybox"}, path.Base(file)) && strings.HasSuffix(path.Dir(file), "bin") {
			return fmt.Errorf("%w: it has a shell (%s): take one without", errBase, file)
		}
		if file == rootsFile {
			text, err := io.ReadAll(archive)
			if err != nil {
				return fmt.Errorf("image unpack: %w", err)
			}
			if roots, err = certificates(text); err != nil {
				return fmt.Errorf("%w: %s: %w", errBase, file, err)
			}
		}
	}
	if roots == 0 {
		return fmt.Errorf("%w: it has no CA roots in /%s, so the daemon could not reach AWS: take one that has, such as distroless static", errBase, rootsFile)
	}
	return nil
}

// certificates counts the certificates in a bundle.
func certificates(bundle []byte) (int, error) {
	n := 0
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return n, nil
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return n, fmt.Errorf("certificate %d parse: %w", n+1, err)
		}
		n++
	}
}
