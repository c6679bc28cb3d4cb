package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

func TestRun_RefusesABaseThatDoesNotFit(t *testing.T) {
	registry := startRegistry(t)
	fits := staticBase(t)
	for name, tt := range map[string]struct {
		base func() string
		want []string
	}{
		"by tag":      {func() string { return "gcr.io/distroless/static:nonroot" }, []string{`BASE_IMAGE is "gcr.io/distroless/static:nonroot"`, "by digest"}},
		"not there":   {func() string { return registry + "/none@sha256:" + strings.Repeat("0", 64) }, []string{"base image", "/none@sha256:", "cannot be fetched", "BASE_IMAGE=mirror.example.com"}},
		"no registry": {func() string { return "127.0.0.1:1/none@sha256:" + strings.Repeat("0", 64) }, []string{"127.0.0.1:1/none@sha256:", "cannot be fetched", "reaches its registry"}},
		"root":        {func() string { b := fits; b.user = ""; return b.push(t, registry) }, []string{"linux/amd64", "runs as root", "take one with another user"}},
		"uid 0":       {func() string { b := fits; b.user = "0:0"; return b.push(t, registry) }, []string{`runs as root (user "0:0")`}},
		"a shell":     {func() string { return fits.with("usr/bin/bash", "x").push(t, registry) }, []string{"it has a shell (usr/bin/bash): take one without"}},
		"no roots":    {func() string { return fits.with(rootsFile, "").push(t, registry) }, []string{"no CA roots in /etc/ssl/certs/ca-certificates.crt", "take one that has"}},
		"bad roots": {func() string {
			return fits.with(rootsFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").push(t, registry)
		}, []string{"ca-certificates.crt: certificate 1 parse"}},
		"amd64 only": {func() string { b := fits; b.architectures = []string{"amd64"}; return b.push(t, registry) }, []string{"linux/arm64"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := request{repository: registry + "/karpenterd/karpenterd", base: tt.base(), out: t.TempDir(), architectures: architectures()}.run(t.Context(), io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestRun_NamesEveryMissingParameter(t *testing.T) {
	_, err := request{sign: true, base: "gcr.io/distroless/static:nonroot", architectures: []string{"amd64", "arm"}}.run(t.Context(), io.Discard)
	for _, want := range []string{"REPOSITORY", "BASE_IMAGE", "-out", "SIGN is set without PUSH", `ARCHITECTURES has "arm": `} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %s", err, want)
		}
	}
}

func TestRun_SignsNoImageOfOneArchitecture(t *testing.T) {
	_, err := request{sign: true, push: true, architectures: []string{"arm64"}}.run(t.Context(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "SIGN is set, and ARCHITECTURES has arm64 alone") {
		t.Errorf("error %v", err)
	}
}

func TestChosen_NamesEachArchitectureOnce(t *testing.T) {
	for list, want := range map[string]string{"": "amd64 arm64", "arm64": "arm64", "arm64,amd64,arm64": "amd64 arm64", "amd64,": " amd64"} {
		if got := strings.Join(chosen(list), " "); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

// What was signed by tag could be replaced before somebody looks.
func TestSign_SignsTheDigestAndBothArchitectures(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	if err := os.WriteFile(filepath.Join(dir, "cosign"), []byte("#!/bin/sh\necho \"$@\" > "+said+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	target, err := name.NewDigest("registry.example.com/karpenterd@sha256:" + strings.Repeat("1", 64))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for key, want := range map[string]string{
		"":                "sign --yes --recursive " + target.String(),
		"awskms:///alias": "sign --yes --recursive --key awskms:///alias " + target.String(),
	} {
		t.Setenv("COSIGN_KEY", key)
		if err := sign(t.Context(), io.Discard, target); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(said); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("cosign was asked %q (%v), want %q", got, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := sign(t.Context(), &bytes.Buffer{}, target); err == nil || !strings.Contains(err.Error(), "cosign is not on PATH") {
		t.Errorf("error %v", err)
	}
}
