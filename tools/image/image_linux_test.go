package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// played are the architectures that the image is built for: this machine's, and in one share of
// four all, as each is compiled for minutes the first time.
func played(t *testing.T) []string {
	t.Helper()
	if share.Of(t.Name(), 4, []bool{true, false, false, false})[0] {
		return architectures()
	}
	return []string{runtime.GOARCH}
}

// TestImage builds the image on a base made here, pushes it to a registry on loopback, pulls
// it, unpacks it and runs it. The server has a certificate that only the base's roots know.
func TestImage(t *testing.T) {
	reached := make(chan string, 100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached <- r.URL.Path
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	registry := startRegistry(t)
	first := request{
		repository: registry + "/karpenterd/karpenterd", base: staticBase(t, server.Certificate()).push(t, registry),
		version: "1.2.3", out: t.TempDir(), push: true, architectures: played(t),
	}
	digest, err := first.run(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	index := pulled(t, first.repository+"@"+digest)

	t.Run("IsUnderTheTagOfItsVersion", func(t *testing.T) {
		tag, err := name.NewTag(first.repository + ":1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		found, err := remote.Get(tag)
		if err != nil || found.Digest.String() != digest {
			t.Errorf("the tag is %v (%v), want %s", found, err, digest)
		}
	})
	t.Run("IsTheSameFromACopyOfTheSource", func(t *testing.T) {
		second := first
		second.source, second.out, second.push = copyOfSource(t), t.TempDir(), false
		again, err := second.run(t.Context(), os.Stderr)
		if err != nil || again != digest {
			t.Errorf("the second build is %s (%v), the first was %s", again, err, digest)
		}
	})
	t.Run("HasAProgramForEachArchitecture", func(t *testing.T) {
		machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
		for _, architecture := range first.architectures {
			machine := machines[architecture]
			root, config := unpacked(t, index, architecture)
			file, err := elf.Open(filepath.Join(root, config.Entrypoint[0]))
			if err != nil {
				t.Fatal(err)
			}
			if file.Machine != machine || file.Section(".interp") != nil {
				t.Errorf("%s: the program is for %s, dynamic %t", architecture, file.Machine, file.Section(".interp") != nil)
			}
			_ = file.Close()
		}
	})
	root, config := unpacked(t, index, runtime.GOARCH)
	t.Run("SaysItsVersion", func(t *testing.T) {
		out, err := inside(t, root, config, nil, "version").Output()
		if err != nil || !strings.HasPrefix(string(out), "1.2.3 go1.") {
			t.Errorf("version says %q (%v)", out, err)
		}
	})
	t.Run("RunsAsTheUserOfTheBaseWithoutAShell", func(t *testing.T) {
		if config.User != "65532:65532" || len(config.Cmd) > 0 {
			t.Errorf("user %q, command %q", config.User, config.Cmd)
		}
	})
	t.Run("TrustsTheRootsOfItsBase", func(t *testing.T) { trusts(t, root, config, server.URL, reached) })
	t.Run("HasABillOfMaterialThatListsTheModules", func(t *testing.T) { listed(t, first, index) })
}

// trusts runs a command of the image that reaches the server only if it takes the roots from
// the image's file. With other roots the same command must fail.
func trusts(t *testing.T, root string, config v1.Config, url string, reached chan string) {
	t.Helper()
	kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + url + `"}}],"users":[{"name":"u","user":{"token":"t"}}]}`
	if err := os.WriteFile(filepath.Join(root, "kubeconfig"), []byte(kubeconfig), 0o644); err != nil {
		t.Fatal(err)
	}
	handback := func() ([]byte, error) {
		return inside(t, root, config, []string{"KUBECONFIG=/kubeconfig"}, "handback", "--dry-run").CombinedOutput()
	}
	out, _ := handback() // the server has nothing to hand back
	if strings.Contains(string(out), "certificate") || len(reached) == 0 {
		t.Errorf("the server was not reached: %s", out)
	}
	for len(reached) > 0 {
		<-reached
	}
	roots := filepath.Join(root, rootsFile)
	text, err := os.ReadFile(roots)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndex(text, []byte("-----BEGIN")) // the server's is the last
	if err := os.WriteFile(roots, text[:cut], 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err = handback(); err == nil || !strings.Contains(string(out), "unknown authority") || len(reached) > 0 {
		t.Errorf("without the server's certificate among the roots: %v, %d requests: %s", err, len(reached), out)
	}
}

// inside runs the image's entrypoint as its user, with the unpacked image as the root of the
// file system. Who is not root gets a user namespace for that.
func inside(t *testing.T, root string, config v1.Config, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, config.Entrypoint[0], append(config.Entrypoint[1:], args...)...)
	cmd.Dir, cmd.Env = "/", append(slices.Clone(config.Env), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	return cmd
}

func pulled(t *testing.T, reference string) v1.ImageIndex {
	t.Helper()
	digest, err := name.NewDigest(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// unpacked writes the image's files to a folder that its user can read.
func unpacked(t *testing.T, index v1.ImageIndex, architecture string) (string, v1.Config) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform.OS == "linux" && d.Platform.Architecture == architecture })
	if at < 0 {
		t.Fatalf("no image for linux/%s among %+v", architecture, manifest.Manifests)
	}
	image, err := index.Image(manifest.Manifests[at].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return root, config.Config
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		to := filepath.Join(root, path.Clean("/"+header.Name))
		content, err := io.ReadAll(archive)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, header.FileInfo().Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// copyOfSource is another folder with what the daemon is built of.
func copyOfSource(t *testing.T) string {
	t.Helper()
	root, err := toolchain.Root()
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", ".ko.yaml", "daemon", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, relative)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, relative), text, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// listed checks that the bill of material in the registry names the modules of the program.
func listed(t *testing.T, r request, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		tag, err := name.NewTag(r.repository + ":sha256-" + m.Digest.Hex + ".sbom")
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(tag)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatal(len(layers), err)
		}
		text, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var bill struct {
			Version  string `json:"spdxVersion"`
			Packages []struct {
				Name    string `json:"name"`
				Version string `json:"versionInfo"`
			} `json:"packages"`
		}
		if err := json.NewDecoder(text).Decode(&bill); err != nil {
			t.Fatal(err)
		}
		modules := map[string]string{}
		for _, p := range bill.Packages {
			modules[p.Name] = p.Version
		}
		if !strings.HasPrefix(bill.Version, "SPDX-") {
			t.Errorf("the bill is %q", bill.Version)
		}
		for _, module := range []string{"k8s.io/client-go", "github.com/aws/aws-sdk-go-v2/service/ec2", "github.com/prometheus/client_golang"} {
			if want := required(t, module); modules[module] != want {
				t.Errorf("%s: %s is %q in the bill, and %q in go.mod", m.Platform, module, modules[module], want)
			}
		}
	}
}

// required is the version of a module in the product's go.mod.
func required(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == module {
			return fields[1]
		}
	}
	t.Fatalf("go.mod does not require %s", module)
	return ""
}
