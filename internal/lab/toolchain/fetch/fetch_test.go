package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is one entry of an archive.
type entry struct {
	name, content string
	kind          byte
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		if e.kind != 0 {
			header.Typeflag, header.Size, header.Linkname = e.kind, 0, e.content
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if e.kind == 0 {
			if _, err := archive.Write([]byte(e.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func sum256(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}

func sum512(b []byte) string {
	s := sha512.Sum512(b)
	return "sha512:" + hex.EncodeToString(s[:])
}

// nothingLeft checks that the folder is empty.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v (%v), want nothing", left, err)
	}
}

func TestGet_TakesTheProgramsOutOfTheArchiveAndNothingElse(t *testing.T) {
	packed := pack(t,
		entry{name: "server/bin/etcd", content: "etcd!"},
		entry{name: "./server/bin/kwok", content: "kwok!"},
		entry{name: "../../outside", content: "no"},
		entry{name: "server/README", content: "no"})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	dir := t.TempDir()
	f := File{URL: url + "/a.tar.gz", Sum: sum512(packed), Programs: map[string]string{"server/bin/etcd": "etcd", "server/bin/kwok": "kwok"}}
	var got, size int64
	if err := (Client{}).Get(t.Context(), f, dir, func(g, s int64) { got, size = g, s }); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v (%v), want the two programs", left, err)
	}
	for name, want := range map[string]string{"etcd": "etcd!", "kwok": "kwok!"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(content) != want {
			t.Errorf("%s = %q (%v), want %q", name, content, err, want)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s is not executable: %v", name, err)
		}
	}
	if got != int64(len(packed)) || size != got {
		t.Errorf("heard %d of %d bytes, want all %d", got, size, len(packed))
	}
}

func TestGet_FollowsRedirectsToWhatIsItselfTheProgram(t *testing.T) {
	program := []byte("#!/bin/sh\n")
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/store" {
			http.Redirect(w, r, "/store", http.StatusFound)
			return
		}
		_, _ = w.Write(program)
	})
	dir := t.TempDir()
	f := File{URL: url + "/kwok-linux-amd64", Sum: sum256(program), Programs: map[string]string{"": "kwok"}}
	if err := (Client{}).Get(t.Context(), f, dir, nil); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "kwok")); err != nil || !bytes.Equal(content, program) {
		t.Errorf("kwok = %q, %v", content, err)
	}
}

func TestGet_WrongSumNamesFileExpectedGotAndRemedy(t *testing.T) {
	packed := pack(t, entry{name: "etcd", content: "something else"})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	dir := t.TempDir()
	expected := strings.Repeat("ab", 32)
	err := (Client{}).Get(t.Context(), File{URL: url + "/a.tar.gz", Sum: "sha256:" + expected, Programs: map[string]string{"etcd": "etcd"}}, dir, nil)
	if !errors.Is(err, ErrSum) || errors.Is(err, ErrUnavailable) {
		t.Fatalf("err = %v, want ErrSum", err)
	}
	for _, want := range []string{url + "/a.tar.gz", "expected " + expected, "got " + strings.TrimPrefix(sum256(packed), "sha256:"), "LAB_BINARIES=build"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q in it", err, want)
		}
	}
	nothingLeft(t, dir)
}

func TestGet_WhatCannotBeHadIsUnavailableAndLeavesNothing(t *testing.T) {
	packed := pack(t, entry{name: "etcd", content: strings.Repeat("etcd", 1<<16)})
	hold := make(chan struct{})
	for name, answer := range map[string]http.HandlerFunc{
		"absent": http.NotFound,
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(packed[:10])
		},
		"redirected to nobody": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"slow": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(packed[:10])
			w.(http.Flusher).Flush()
			<-hold
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, answer)
			dir := t.TempDir()
			f := File{URL: url, Sum: sum256(packed), Programs: map[string]string{"etcd": "etcd"}}
			client := Client{}
			if name == "slow" {
				t.Cleanup(func() { close(hold) })
				client = Client{Slowest: 1 << 20, Window: 50 * time.Millisecond}
			}
			err := client.Get(t.Context(), f, dir, nil)
			if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrSum) {
				t.Errorf("err = %v, want ErrUnavailable", err)
			}
			if name == "slow" && !strings.Contains(err.Error(), "bytes came in 50ms") {
				t.Errorf("err = %v, want how slow it was", err)
			}
			nothingLeft(t, dir)
		})
	}
	err := (Client{}).Get(t.Context(), File{URL: "http://127.0.0.1:1/a", Sum: sum256(nil)}, t.TempDir(), nil)
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("refused: %v, want ErrUnavailable", err)
	}
}

func TestGet_ArchiveWithoutTheProgramIsAnError(t *testing.T) {
	for name, packed := range map[string][]byte{
		"lacks it":   pack(t, entry{name: "other", content: "x"}),
		"as a link":  pack(t, entry{name: "etcd", content: "/bin/sh", kind: tar.TypeSymlink}),
		"no archive": []byte("hello"),
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
		dir := t.TempDir()
		err := (Client{}).Get(t.Context(), File{URL: url, Sum: sum256(packed), Programs: map[string]string{"etcd": "etcd"}}, dir, nil)
		if !errors.Is(err, ErrArchive) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: err = %v, want ErrArchive", name, err)
		}
		nothingLeft(t, dir)
	}
}

func TestGet_RefusesAFileWithoutASum(t *testing.T) {
	for _, sum := range []string{"", "sha256:", "md5:d41d8cd98f00b204e9800998ecf8427e", "sha256:abc"} {
		if err := (Client{}).Get(t.Context(), File{URL: "http://127.0.0.1:1/", Sum: sum}, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is no sum") {
			t.Errorf("%q: err = %v, want that it is no sum", sum, err)
		}
	}
}
