package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// base is a static base image: what the public ones have that the daemon needs.
type base struct {
	user          string
	files         map[string]string
	architectures []string
}

// staticBase has the public CA roots and, beside them, further ones.
func staticBase(t *testing.T, further ...*x509.Certificate) base {
	t.Helper()
	var roots bytes.Buffer
	add := func(der []byte) {
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			t.Fatal(err)
		}
	}
	for root := range bundle.Roots() {
		add(root.Certificate)
	}
	for _, c := range further {
		add(c.Raw)
	}
	return base{user: "65532:65532", architectures: architectures(), files: map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
		rootsFile:    roots.String(),
	}}
}

// with is the base with another file.
func (b base) with(file, content string) base {
	b.files = maps.Clone(b.files)
	b.files[file] = content
	return b
}

// push puts the base into the registry and returns its name by digest.
func (b base) push(t *testing.T, registry string) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		content := b.files[file]
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
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
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	target, err := name.NewDigest(registry + "/base@" + digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(target, index); err != nil {
		t.Fatal(err)
	}
	return target.String()
}

// startRegistry serves an empty registry on loopback and returns its host and port.
func startRegistry(t *testing.T) string {
	t.Helper()
	registry, err := startLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.close)
	return registry.host
}
