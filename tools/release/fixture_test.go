package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
)

const (
	testVersion = "1.2.3"
	testDigest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	testCommit  = "0123456789abcdef0123456789abcdef01234567"
)

var testTime = time.Unix(1_800_000_000, 0)

// program is a small program as a release has them: built for Linux without cgo and without
// paths, with a module beside the standard library, the version and the digest.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, text := range map[string]string{
		"go.mod":     "module hello.test/hello\n\ngo 1.26.0\n\nrequire lib.test/lib v1.0.0\n\nreplace lib.test/lib => ./lib\n",
		"main.go":    "package main\n\nimport \"lib.test/lib\"\n\nvar version, imageDigest string\n\nfunc main() { println(version, imageDigest, lib.Name) }\n",
		"lib/go.mod": "module lib.test/lib\n\ngo 1.26.0\n",
		"lib/lib.go": "package lib\n\nvar Name = \"lib\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.version="+testVersion+" -X main.imageDigest="+testDigest, "-o", "program", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "program"))
})

// testKey is one for all tests: it takes a second to find.
var testKey = sync.OnceValues(newKey)

// fixture is a release of the provider and the daemon for linux/amd64, without faults.
type fixture struct {
	made

	key      *openpgp.Entity
	archives map[string][]entry
	krew     string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	text, err := os.ReadFile("../../.goreleaser.yml")
	if err == nil {
		text, err = narrowed(text, []string{"linux/amd64"})
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	content, err := program()
	if err != nil {
		t.Fatal(err)
	}
	key, err := testKey()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	f := &fixture{key: key, archives: map[string][]entry{}, made: made{
		root: root, dist: filepath.Join(root, "dist"), config: c, version: testVersion, commit: testCommit, time: testTime, digest: testDigest,
		signedBy: openpgp.EntityList{key},
	}}
	packed, err := c.packed(testVersion)
	if err != nil || len(packed) != 2 {
		t.Fatal(packed, err)
	}
	for _, a := range packed {
		f.archives[a.name] = []entry{
			{name: a.program, mode: 0o755, modified: testTime, owner: "root", content: content},
			{name: "LICENSE", mode: 0o644, modified: testTime, owner: "root", content: []byte("Apache")},
		}
	}
	if err := os.MkdirAll(f.path("krew"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.put(t, filepath.Join(root, "terraform-registry-manifest.json"), `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	return f
}

const (
	providerArchive = "terraform-provider-karpenter_1.2.3_linux_amd64.zip"
	daemonArchive   = "karpenterd_1.2.3_linux_amd64.tar.gz"
	providerProgram = "terraform-provider-karpenter_v1.2.3"
	sumsFile        = "terraform-provider-karpenter_1.2.3_SHA256SUMS"
	provenanceFile  = "terraform-provider-karpenter_1.2.3_provenance.intoto.json"
)

func (f *fixture) put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pack writes the archives and their bills.
func (f *fixture) pack(t *testing.T) {
	t.Helper()
	for name, entries := range f.archives {
		write := writeTar
		if strings.HasSuffix(name, ".zip") {
			write = writeZip
		}
		f.put(t, f.path(name), string(write(t, entries)))
		if _, _, err := programOf(entries); err != nil {
			continue
		}
		if err := writeBill(f.path(name), testVersion, f.path(billName(name))); err != nil {
			t.Fatal(err)
		}
	}
}

// sum writes the checksums of what there is, as GoReleaser does.
func (f *fixture) sum(t *testing.T, without ...string) {
	t.Helper()
	files, err := f.covered()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for name, path := range files {
		if sum, err := sumOf(path); err == nil && !slices.Contains(without, name) {
			lines = append(lines, sum+"  "+name+"\n")
		}
	}
	slices.Sort(lines)
	f.put(t, f.path(sumsFile), strings.Join(lines, ""))
}

// finish signs the checksums, and writes what is made of them.
func (f *fixture) finish(t *testing.T, gpg ...string) {
	t.Helper()
	key := filepath.Join(f.root, "key")
	if err := keepKey(f.key, key); err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(gpg), "--batch", "--local-user", fingerprint(f.key), "--output", f.path(sumsFile+".sig"), "--detach-sign", f.path(sumsFile))
	if err := signAs(key, args); err != nil {
		t.Fatal(err)
	}
	builder, invocation := builderOf(func(string) string { return "" })
	p := provenance{version: f.version, commit: testCommit, imageDigest: testDigest, builder: builder, invocation: invocation}
	if err := p.write(f.path(sumsFile), f.path(provenanceFile)); err != nil {
		t.Fatal(err)
	}
	sum, err := sumOf(f.path(daemonArchive))
	if err != nil {
		t.Fatal(err)
	}
	f.krew = fmt.Sprintf(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: karpenter
spec:
  version: v1.2.3
  platforms:
    - bin: karpenterd
      uri: https://github.com/karpenterd/terraform-provider-karpenter/releases/download/v1.2.3/%s
      sha256: %s
      selector: {matchLabels: {os: linux, arch: amd64}}
`, daemonArchive, sum)
	f.put(t, f.path(krewFile), f.krew)
}

// all runs all checks.
func (f *fixture) all() []string {
	var said []string
	for _, c := range checks() {
		for _, fault := range c.run(f.made) {
			said = append(said, fault.String())
		}
	}
	return said
}

func writeZip(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Store, Modified: e.modified}
		h.SetMode(e.mode)
		file, err := w.CreateHeader(h)
		if err == nil {
			_, err = file.Write(e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writeTar(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(packed)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: e.modified, Uname: e.owner, Gname: e.owner}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
