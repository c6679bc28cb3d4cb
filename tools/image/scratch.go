package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// scratch is a static base image made here: what the public ones have that the daemon needs.
// Rehearsals and tests build on it where no registry can be reached; no release does.
type scratch struct {
	user          string
	files         map[string]string
	architectures []string
}

// scratchBase has the public CA roots and, beside them, further ones.
func scratchBase(further ...*x509.Certificate) scratch {
	var roots bytes.Buffer
	add := func(der []byte) {
		_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // into memory: nothing can fail
	}
	for root := range bundle.Roots() {
		add(root.Certificate)
	}
	for _, c := range further {
		add(c.Raw)
	}
	const users = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	return scratch{user: "65532:65532", architectures: architectures(), files: map[string]string{"etc/passwd": users, rootsFile: roots.String()}}
}

// with is the base with another file.
func (b scratch) with(file, content string) scratch {
	b.files = maps.Clone(b.files)
	b.files[file] = content
	return b
}

// push puts the base into the registry and returns its name by digest.
func (b scratch) push(ctx context.Context, registry string) (string, error) {
	index, err := b.index()
	if err != nil {
		return "", err
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("base read: %w", err)
	}
	target, err := name.NewDigest(registry + "/base@" + digest.String())
	if err != nil {
		return "", fmt.Errorf("base name: %w", err)
	}
	if err := remote.WriteIndex(target, index, remote.WithContext(ctx)); err != nil {
		return "", fmt.Errorf("base push: %w", err)
	}
	return target.String(), nil
}

// index is the base for all its architectures.
func (b scratch) index() (v1.ImageIndex, error) {
	layer, err := b.layer()
	if err != nil {
		return nil, fmt.Errorf("base make: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range b.architectures {
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
			OS: platform.OS, Architecture: platform.Architecture, Config: v1.Config{User: b.user}, RootFS: v1.RootFS{Type: "layers"},
		})
		if err == nil {
			image, err = mutate.AppendLayers(image, layer)
		}
		if err != nil {
			return nil, fmt.Errorf("base make: %w", err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

// layer has the files, in the order of their names.
func (b scratch) layer() (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		content := b.files[file]
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
}
