package main

import (
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// staticBase is scratchBase; push ends the test where it fails.
func staticBase(t *testing.T, further ...*x509.Certificate) pushable {
	t.Helper()
	return pushable{scratchBase(further...)}
}

type pushable struct{ scratch }

func (b pushable) with(file, content string) pushable { return pushable{b.scratch.with(file, content)} }

func (b pushable) push(t *testing.T, registry string) string {
	t.Helper()
	target, err := b.scratch.push(t.Context(), registry)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// tag gives a base in the registry a tag.
func tag(t *testing.T, base, as string) {
	t.Helper()
	digest, err := name.NewDigest(base)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(digest)
	if err == nil {
		err = remote.Tag(digest.Context().Tag(as), index)
	}
	if err != nil {
		t.Fatal(err)
	}
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

func TestBase_IsNamedByTagAndDigest(t *testing.T) {
	reference, err := baseOf(pinnedBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := name.NewDigest(reference, name.StrictValidation); err != nil {
		t.Error(err)
	}
	tagged, _, _ := strings.Cut(reference, "@")
	if _, err := name.NewTag(tagged, name.StrictValidation); err != nil {
		t.Errorf("make image-base would not know which tag to ask for: %v", err)
	}
}

// noted is a file that names the base.
func noted(t *testing.T, reference string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "base.txt")
	if err := os.WriteFile(file, []byte("# why\n"+reference+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRenewBase_WritesTheDigestThatTheTagHasNow(t *testing.T) {
	registry := startRegistry(t)
	old := staticBase(t).push(t, registry)
	_, before, _ := strings.Cut(old, "@")
	file := noted(t, registry+"/base:nonroot@"+before)
	tag(t, old, "nonroot")
	var said strings.Builder
	if err := renewBase(t.Context(), &said, file); err != nil {
		t.Fatal(err)
	}
	if want := "# why\n" + registry + "/base:nonroot@" + before + "\n"; content(t, file) != want || !strings.Contains(said.String(), "still") {
		t.Errorf("the tag had not moved: %q, and it says %q", content(t, file), said.String())
	}
	moved := staticBase(t).with("etc/newer", "x").push(t, registry)
	tag(t, moved, "nonroot")
	if err := renewBase(t.Context(), io.Discard, file); err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(moved, "@")
	if want := "# why\n" + registry + "/base:nonroot@" + after + "\n"; content(t, file) != want {
		t.Errorf("the file has %q, want %q", content(t, file), want)
	}
}

func TestRenewBase_LeavesTheFileAloneWhereTheNewBaseDoesNotFit(t *testing.T) {
	registry := startRegistry(t)
	rooted := staticBase(t)
	rooted.user = ""
	tag(t, rooted.push(t, registry), "rooted")
	for name, tt := range map[string]struct{ reference, want string }{
		"runs as root":     {registry + "/base:rooted@sha256:" + strings.Repeat("1", 64), "runs as root"},
		"no such tag":      {registry + "/base:gone@sha256:" + strings.Repeat("1", 64), "/base:gone"},
		"no registry":      {"127.0.0.1:1/base:nonroot@sha256:" + strings.Repeat("1", 64), "cannot be fetched"},
		"no tag":           {registry + "/base@sha256:" + strings.Repeat("1", 64), "name:tag@sha256:"},
		"nothing but text": {"", "names no base"},
	} {
		t.Run(name, func(t *testing.T) {
			file := noted(t, tt.reference)
			before := content(t, file)
			err := renewBase(t.Context(), io.Discard, file)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v lacks %q", err, tt.want)
			}
			if content(t, file) != before {
				t.Errorf("the file has %q", content(t, file))
			}
		})
	}
}

func TestServe_HasABaseThatFits(t *testing.T) {
	input, end := io.Pipe()
	said, saying := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- serve(t.Context(), saying, input)
		_ = saying.Close()
	}()
	lines := make([]byte, 4096)
	n, err := said.Read(lines)
	if err != nil {
		t.Fatal(err)
	}
	registry, base, ok := strings.Cut(strings.TrimSpace(string(lines[:n])), "\nBASE_IMAGE=")
	if host := strings.TrimPrefix(registry, "REGISTRY="); !ok || !strings.HasPrefix(base, host+"/base@sha256:") {
		t.Fatalf("it says %q", lines[:n])
	}
	digest, err := name.NewDigest(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkBase(t.Context(), digest, architectures()); err != nil {
		t.Error(err)
	}
	_ = end.Close()
	if err := <-served; err != nil {
		t.Errorf("at the end of its input: %v", err)
	}
}
