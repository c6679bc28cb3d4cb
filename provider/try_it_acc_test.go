//go:build lab

package provider_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	labquickstart "github.com/karpenterd/terraform-provider-karpenter/internal/lab/quickstart"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// notTried are the blocks of the guide that no test runs; fates of internal/lab/e2e says why.
func notTried() []string { return []string{"a repository", "get the source"} }

// ownRepository is the repository that the guide has in its examples.
const ownRepository = "123456789012.dkr.ecr.us-west-2.amazonaws.com/karpenterd"

// TestAccTryIt goes the way of the guide, block by block as they are written: it builds, pushes
// the image to a registry on loopback, applies the quick start with that image, and destroys it.
func TestAccTryIt(t *testing.T) {
	l := startLab(t)
	base := l.registry(t)
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) { l.tryIt(t, cli, base) })
	}
}

func (l *theLab) tryIt(t *testing.T, cli cli, base string) {
	t.Helper()
	repository := shared.registry.Addr().String() + "/karpenterd"
	s := newShell(t, cli)
	s.env = append(s.env, "BASE_IMAGE="+base)
	if !share.Whole() { // each is compiled for minutes the first time
		s.env = append(s.env, "ARCHITECTURES="+runtime.GOARCH)
	}
	s.block(t, "build")
	s.block(t, "push the image", ownRepository, repository)
	s.block(t, "copy the configuration")
	s.block(t, "name the image")
	s.env = append(s.env, l.answers(t)...)
	s.block(t, "development override")
	t.Cleanup(func() { // the laboratory is shared
		if t.Failed() {
			_, _ = s.run(context.WithoutCancel(t.Context()), "cd ~/try-karpenter && "+cli.name+" destroy")
		}
	})
	s.block(t, "apply")
	deployment := l.deployment(t)
	digest := strings.TrimSpace(strings.TrimPrefix(s.file(t, s.root, "bin/image.env"), "IMAGE_DIGEST="))
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != repository+"@"+digest {
		t.Errorf("the Deployment has the image %q, and %s was pushed to %s", got, digest, repository)
	}
	if deployment.Status.AvailableReplicas == 0 {
		t.Errorf("no replica is available after the apply: %+v", deployment.Status)
	}
	pulled(t, repository, digest)

	s.must(t, "cd '"+s.root+"'")
	s.block(t, "mirror in the file system")
	s.block(t, "install from the mirror")
	s.must(t, cli.name+" plan -detailed-exitcode") // 2 if something is to change: the mirror has the same provider
	s.block(t, "destroy")
	if _, err := l.get("apps", "Deployment", "karpenter", "karpenterd"); !notInCluster(err) {
		t.Errorf("after the destroy: %v", err)
	}
	for _, title := range slices.Sorted(maps.Keys(s.blocks)) {
		if !s.ran[title] && !slices.Contains(notTried(), title) {
			t.Errorf("the guide has a block %q, which this test does not run", title)
		}
	}
}

// answers are the variables of the quick start for this laboratory, without the image, which
// the guide sets, and without the command line's configuration, which the guide writes.
func (l *theLab) answers(t *testing.T) []string {
	t.Helper()
	env, err := labquickstart.Prepare(l.Lab, filepath.Join(t.TempDir(), "quickstart"), "none")
	must(t, err)
	return slices.DeleteFunc(env, func(e string) bool {
		return !strings.HasPrefix(e, "TF_VAR_") || strings.HasPrefix(e, "TF_VAR_image=")
	})
}

// registry starts a registry on loopback with a base image in it, behind the address whose
// images the laboratory runs. It returns the base.
func (l *theLab) registry(t *testing.T) (base string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", "../tools/image", ".", "-serve")
	input, err := cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close() // the end of its input ends it
		_ = cmd.Wait()
	})
	said := map[string]string{}
	for lines := bufio.NewScanner(output); len(said) < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		said[name] = value
	}
	if said["REGISTRY"] == "" || said["BASE_IMAGE"] == "" {
		t.Fatalf("no registry: %v %s", said, complaint.String())
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: said["REGISTRY"]})
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(shared.registry) }()
	t.Cleanup(func() { _ = server.Close() })
	return said["BASE_IMAGE"]
}

// pulled checks that the repository has what the digest names.
func pulled(t *testing.T, repository, digest string) {
	t.Helper()
	host, path, _ := strings.Cut(repository, "/")
	answer, err := http.Get("http://" + host + "/v2/" + path + "/manifests/" + digest)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	sum := sha256.Sum256(text)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != digest {
		t.Errorf("the registry answers %s with %s: %s", answer.Status, got, text)
	}
}

// shell is where a user of the guide types: variables and the folder last from block to block.
type shell struct {
	cli
	root   string // the checkout
	env    []string
	state  string // file with what the last block left
	blocks map[string]string
	ran    map[string]bool
}

func newShell(t *testing.T, cli cli) *shell {
	t.Helper()
	root, err := toolchain.Root()
	must(t, err)
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	must(t, os.Mkdir(bin, 0o700))
	must(t, os.Symlink(cli.path, filepath.Join(bin, cli.name)))
	s := &shell{cli: cli, root: root, state: filepath.Join(home, "state"), blocks: shellBlocks(t, "try_it"), ran: map[string]bool{}}
	must(t, os.WriteFile(s.state, []byte("cd '"+root+"'\n"), 0o600))
	// The caches stay where they are: HOME is the guide's alone.
	caches, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	must(t, err)
	cache, err := os.UserCacheDir()
	must(t, err)
	lines := strings.Split(string(caches), "\n")
	s.env = append(os.Environ(), "HOME="+home, "GOCACHE="+lines[0], "GOMODCACHE="+lines[1], "GOPATH="+lines[2], "XDG_CACHE_HOME="+cache,
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"TF_CLI_ARGS_apply=-auto-approve -no-color", "TF_CLI_ARGS_destroy=-auto-approve -no-color", "MAKEFLAGS=", "MAKELEVEL=")
	return s
}

// shellBlocks returns the blocks of commands in a guide by the comment that each begins with.
func shellBlocks(t *testing.T, guide string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../templates/guides/" + guide + ".md")
	must(t, err)
	out := map[string]string{}
	for i, part := range strings.Split(string(text), "```") {
		block, is := strings.CutPrefix(part, "sh\n# ")
		if title, lines, _ := strings.Cut(block, "\n"); i%2 == 1 && is {
			out[title] = lines
		}
	}
	return out
}

// block runs a block as it is written, but for the command line tool and what the pairs replace.
func (s *shell) block(t *testing.T, title string, fills ...string) {
	t.Helper()
	commands, there := s.blocks[title]
	if !there {
		t.Fatalf("the guide has no block %q", title)
	}
	s.ran[title] = true
	fills = append(fills, "\nterraform ", "\n"+s.name+" ")
	s.must(t, strings.NewReplacer(fills...).Replace("\n"+commands))
}

func (s *shell) must(t *testing.T, commands string) {
	t.Helper()
	if said, err := s.run(t.Context(), commands); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, said)
	}
}

func (s *shell) run(ctx context.Context, commands string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute) // where nothing is compiled yet, and other tests run
	defer cancel()
	script := fmt.Sprintf("set -eu -o pipefail\n. '%s'\n%s\n{ export -p; echo \"cd '$PWD'\"; } > '%[1]s'\n", s.state, commands)
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.root, s.env, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), errors.Join(err, ctx.Err())
}

func (s *shell) file(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	must(t, err)
	return string(text)
}
