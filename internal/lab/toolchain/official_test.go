package toolchain

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/fetch"
)

func TestOfficials_AreAcceptedWhereTheyAreFoundAndHaveSums(t *testing.T) {
	sum := regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
	for _, o := range officials() {
		v, ok := parseVersion(o.version)
		if !ok {
			t.Errorf("%s: %q is no version", o.address, o.version)
		}
		for tool := range o.programs {
			if a := specs()[tool].found[0]; !a.fits(v) {
				t.Errorf("%s %s does not fit: wants %s", tool, v, a.wants())
			}
		}
		for platform, published := range o.sums {
			if !sum.MatchString(published) {
				t.Errorf("%s for %s: %q is no sum", o.address, platform, published)
			}
			if f := o.file(platform, ""); strings.ContainsAny(f.URL, "{}") || !strings.HasPrefix(f.URL, "https://") {
				t.Errorf("%s is no address", f.URL)
			}
		}
	}
}

func TestOfficial_MirrorHasTheProjectsHostsAsFolders(t *testing.T) {
	o, ok := officialOf(officials(), Etcd, "linux/arm64")
	if !ok {
		t.Fatal("no release of etcd")
	}
	f := o.file("linux/arm64", "http://127.0.0.1:1/mirror/")
	path := "github.com/etcd-io/etcd/releases/download/v" + o.version + "/etcd-v" + o.version + "-linux-arm64.tar.gz"
	if want := "http://127.0.0.1:1/mirror/" + path; f.URL != want {
		t.Errorf("address = %s, want %s", f.URL, want)
	}
	if f := o.file("linux/arm64", ""); f.URL != "https://"+path {
		t.Errorf("address = %s, want https://%s", f.URL, path)
	}
	if want := "etcd-v" + o.version + "-linux-arm64/etcd"; f.Programs[want] != "etcd" {
		t.Errorf("programs = %v, want %s", f.Programs, want)
	}
	if _, ok := officialOf(officials(), Etcd, "plan9/mips"); ok {
		t.Error("a platform without a sum has a download")
	}
}

func TestChosen_RefusesWhatHasNoMeaning(t *testing.T) {
	t.Setenv(envMirror, "")
	for _, good := range []string{"", "build", "download", "path"} {
		t.Setenv(envBinaries, good)
		if got, _, err := chosen(); err != nil || string(got) != good {
			t.Errorf("%q = %q, %v", good, got, err)
		}
	}
	t.Setenv(envBinaries, "yes")
	if _, _, err := chosen(); !errors.Is(err, ErrChoice) || !strings.Contains(err.Error(), "build, download or path") {
		t.Errorf("err = %v, want what can be chosen", err)
	}
	t.Setenv(envBinaries, "")
	t.Setenv(envMirror, "mirror.test")
	if _, _, err := chosen(); !errors.Is(err, ErrChoice) || !strings.Contains(err.Error(), "LAB_BINARIES_MIRROR=mirror.test") {
		t.Errorf("err = %v, want the variable and its value", err)
	}
}

// site is a mirror that has etcd in an archive, and a survey that knows its sum.
func site(t *testing.T, choice binaries, wrong bool) *survey {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	const script = "#!/bin/sh\necho 'etcd Version: 3.6.10'\n"
	if err := archive.WriteHeader(&tar.Header{Name: "etcd-3/etcd", Mode: 0o755, Size: int64(len(script)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed.Bytes())
	if wrong {
		packed.WriteByte(0)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/site.test/etcd.tar.gz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(server.Close)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	return &survey{
		choice: choice, mirror: server.URL, platform: "linux/amd64", cache: t.TempDir(),
		releases: []official{{
			version: "3.6.10", address: "https://site.test/etcd.tar.gz", programs: map[Tool]string{Etcd: "etcd-3/etcd"},
			sums: map[string]string{"linux/amd64": "sha256:" + hex.EncodeToString(sum[:])},
		}},
		modules: map[string]*absent{"controlplane": {module: module{name: "controlplane", cache: t.TempDir()}}},
		ready:   Ready{Tools: map[Tool]Found{}},
	}
}

// want surveys one tool, and downloads it where that is what is to be done.
func (s *survey) want(ctx context.Context, t *testing.T, tool Tool) error {
	t.Helper()
	if err := s.look(ctx, &bytes.Buffer{}, []Tool{tool}); err != nil {
		return err
	}
	return s.download(ctx, quiet(t, &bytes.Buffer{}), s.modules["controlplane"])
}

func TestDownload_IsUsedAndKept(t *testing.T) {
	s := site(t, anyWay, false)
	if err := s.want(t.Context(), t, Etcd); err != nil {
		t.Fatal(err)
	}
	got := s.ready.Tools[Etcd]
	if got.Origin != FromSite || got.Version != "3.6.10" || len(s.modules["controlplane"].build) > 0 {
		t.Errorf("etcd = %+v, want it downloaded and nothing to build", got)
	}
	if v, err := versionOf(t.Context(), got.Path, []string{"--version"}); err != nil || v != (version{3, 6, 10}) {
		t.Errorf("it says %v (%v), want 3.6.10", v, err)
	}
	s.mirror, s.ready.Tools = "http://127.0.0.1:1", map[Tool]Found{}
	s.modules["controlplane"].download = nil
	if err := s.want(t.Context(), t, Etcd); err != nil || s.ready.Tools[Etcd].Origin != FromCache {
		t.Errorf("etcd = %+v (%v), want it from the cache", s.ready.Tools[Etcd], err)
	}
}

func TestDownload_OutOfReachMeansBuildingWithoutAWord(t *testing.T) {
	s := site(t, anyWay, false)
	s.mirror = "http://127.0.0.1:1"
	var said bytes.Buffer
	if err := s.look(t.Context(), &said, []Tool{Etcd}); err != nil {
		t.Fatal(err)
	}
	if err := s.download(t.Context(), quiet(t, &said), s.modules["controlplane"]); err != nil {
		t.Fatal(err)
	}
	if build := s.modules["controlplane"].build; len(build) != 1 || build[0] != Etcd {
		t.Errorf("to build: %v, want etcd", build)
	}
	if said.Len() > 0 {
		t.Errorf("said %q, want nothing", said.String())
	}
}

func TestDownload_WrongSumIsAnErrorHoweverChosen(t *testing.T) {
	for _, choice := range []binaries{anyWay, downloadOnly} {
		s := site(t, choice, true)
		err := s.want(t.Context(), t, Etcd)
		if !errors.Is(err, fetch.ErrSum) || !strings.Contains(err.Error(), "etcd.tar.gz") || !strings.Contains(err.Error(), "LAB_BINARIES=build") {
			t.Errorf("%q: err = %v, want the file and the remedy", choice, err)
		}
		left, _ := filepath.Glob(filepath.Join(s.cache, "tools", "*", "*"))
		if len(left) != 1 || filepath.Base(left[0]) != "lock" {
			t.Errorf("%q: left %v, want the lock alone", choice, left)
		}
	}
}

func TestBinaries_ChoiceDecidesWhereToolsComeFrom(t *testing.T) {
	s := site(t, downloadOnly, false)
	s.mirror = "http://127.0.0.1:1"
	if err := s.want(t.Context(), t, Etcd); !errors.Is(err, fetch.ErrUnavailable) || !strings.Contains(err.Error(), "unset LAB_BINARIES") {
		t.Errorf("download, out of reach: %v, want an error with the remedy", err)
	}
	if err := s.look(t.Context(), &bytes.Buffer{}, []Tool{Kwok}); !errors.Is(err, ErrNotHere) || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("download, no sum: %v, want an error that names the platform", err)
	}

	s = site(t, pathOnly, false)
	if err := s.want(t.Context(), t, Etcd); !errors.Is(err, ErrNotHere) || !strings.Contains(err.Error(), "3.5.0 or newer") {
		t.Errorf("path, nothing there: %v, want an error that says what fits", err)
	}

	s = site(t, buildOnly, false)
	if err := s.want(t.Context(), t, Etcd); err != nil || len(s.modules["controlplane"].build) != 1 {
		t.Errorf("build: %v, to build %v, want etcd", err, s.modules["controlplane"].build)
	}

	for _, choice := range []binaries{anyWay, buildOnly, downloadOnly, pathOnly} {
		s = site(t, choice, false)
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		script(t, dir, "etcd", "etcd Version: 3.5.7")
		if err := s.want(t.Context(), t, Etcd); err != nil || s.ready.Tools[Etcd].Origin != FromPath {
			t.Errorf("%q: etcd = %+v (%v), want the one on PATH", choice, s.ready.Tools[Etcd], err)
		}
	}

	s = site(t, anyWay, false)
	built := filepath.Join(s.modules["controlplane"].module.cache, "etcd")
	if err := os.WriteFile(built, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.want(t.Context(), t, Etcd); err != nil || s.ready.Tools[Etcd].Path != built {
		t.Errorf("etcd = %+v (%v), want the one that was built before", s.ready.Tools[Etcd], err)
	}
}
