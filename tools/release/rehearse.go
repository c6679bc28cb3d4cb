package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// errFaults means that the release that was rehearsed must not be published.
var errFaults = errors.New("the release has faults")

// imageVersion is the tag of the image in a rehearsal.
const imageVersion = "0.0.0-rehearsal"

// rehearse makes a release without publishing it, and checks it.
func rehearse(ctx context.Context, targets string) error {
	root, err := toolchain.Root()
	if err != nil {
		return err
	}
	text, _, err := read(root)
	if err != nil {
		return err
	}
	if text, err = narrowed(text, strings.Fields(targets)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "karpenterd-release-")
	if err != nil {
		return fmt.Errorf("folder make: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	tools, err := toolchain.Ensure(ctx, os.Stderr, toolchain.Goreleaser, toolchain.KrewValidator)
	if err != nil {
		return err
	}
	m := made{root: root, dist: filepath.Join(root, "dist")}
	if m.config, err = readConfig(text); err != nil {
		return err
	}
	if m.commit, m.time, err = head(ctx, root); err != nil {
		return err
	}
	if m.digest, err = image(ctx, root); err != nil {
		return err
	}
	if m.signedBy, err = m.goreleaser(ctx, work, tools[toolchain.Goreleaser].Path, text); err != nil {
		return err
	}
	if m.version, err = versionIn(m.dist, m.config.ProjectName); err != nil {
		return err
	}
	return m.report(ctx, os.Stdout, tools[toolchain.KrewValidator].Path)
}

// report runs all checks.
func (m made) report(ctx context.Context, w io.Writer, krewValidator string) error {
	archives, err := m.config.packed(m.version)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "release %s of commit %s, with %d archives, in %s\n", m.version, m.commit, len(archives), m.dist)
	failed := 0
	say := func(what string, found faults) {
		if len(found) == 0 {
			_, _ = fmt.Fprintf(w, "  ok: %s\n", what)
			return
		}
		failed += len(found)
		_, _ = fmt.Fprintf(w, "  NOT: %s\n", what)
		for _, f := range found {
			_, _ = fmt.Fprintf(w, "    %s\n", f)
		}
	}
	for _, c := range checks() {
		say(c.what, c.run(m))
	}
	var krew faults
	cmd := exec.CommandContext(ctx, krewValidator, "-manifest", m.path(krewFile), "-skip-install")
	if out, err := cmd.CombinedOutput(); err != nil {
		krew.add(krewFile, "%v: %s", err, out)
	}
	say("krew's own program takes the manifest", krew)
	if failed > 0 {
		return fmt.Errorf("%w: %d, see above", errFaults, failed)
	}
	return nil
}

// head is the commit of the checkout, and its time.
func head(ctx context.Context, root string) (string, time.Time, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--format=%H %ct").Output()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("commit read: %w", err)
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("commit read: %w", err)
	}
	return commit, time.Unix(at, 0), nil
}

// image builds the daemon's image for all architectures, on a base made here, and pushes it to
// a registry on loopback. It returns the digest.
func image(ctx context.Context, root string) (string, error) {
	serve := exec.CommandContext(ctx, "go", "run", "-C", "tools/image", ".", "-serve")
	serve.Dir, serve.Stderr = root, os.Stderr
	input, err := serve.StdinPipe()
	if err != nil {
		return "", fmt.Errorf("registry start: %w", err)
	}
	output, err := serve.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("registry start: %w", err)
	}
	if err := serve.Start(); err != nil {
		return "", fmt.Errorf("registry start: %w", err)
	}
	defer func() {
		_ = input.Close() // the end of its input ends it
		_ = serve.Wait()
	}()
	said := map[string]string{}
	for lines := bufio.NewScanner(output); len(said) < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		said[name] = value
	}
	if said["REGISTRY"] == "" || said["BASE_IMAGE"] == "" {
		return "", errors.New("registry start: it did not say where it is and which base it has; its own error is above")
	}
	build := exec.CommandContext(ctx, "make", "image", "PUSH=1", "SIGN=", "ARCHITECTURES=", "VERSION="+imageVersion, "REPOSITORY="+said["REGISTRY"]+"/karpenterd/karpenterd", "BASE_IMAGE="+said["BASE_IMAGE"])
	build.Dir, build.Stderr, build.Env = root, os.Stderr, append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("image build: %w", err)
	}
	digest, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "IMAGE_DIGEST=")
	if !ok {
		return "", fmt.Errorf("image build: make image says %q, and no digest", out)
	}
	return digest, nil
}

// patience is for how long GoReleaser may run. Without it, GoReleaser gives up after an hour, which
// on two cores that have other work is too short for all platforms. GNUmakefile has the same.
const patience = "4h"

// goreleaser runs GoReleaser as a release does, but for what it publishes. gpg is this program,
// with a key that goes when the rehearsal ends.
func (m made) goreleaser(ctx context.Context, work, program string, config []byte) (openpgp.EntityList, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	file, settings := filepath.Join(work, "key"), filepath.Join(work, "goreleaser.yml")
	if err := keepKey(key, file); err != nil {
		return nil, err
	}
	if err := os.WriteFile(settings, config, 0o600); err != nil {
		return nil, fmt.Errorf("configuration write: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own program find: %w", err)
	}
	if err := os.Symlink(self, filepath.Join(work, standIn)); err != nil {
		return nil, fmt.Errorf("stand-in make: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "release", "--snapshot", "--clean", "--timeout", patience, "--config", settings)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.root, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+work+string(os.PathListSeparator)+os.Getenv("PATH"), "IMAGE_DIGEST="+m.digest,
		"GPG_FINGERPRINT="+fingerprint(key), keyVariable+"="+file, "GOFLAGS=", "GOWORK=off", "GITHUB_TOKEN=", "GITLAB_TOKEN=", "GITEA_TOKEN=")
	remotes, err := exec.CommandContext(ctx, "git", "-C", m.root, "remote").Output()
	if err != nil {
		return nil, fmt.Errorf("remotes read: %w", err)
	}
	if len(remotes) == 0 { // GoReleaser takes a checkout without a remote for one without commits
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.url", "GIT_CONFIG_VALUE_0="+repository)
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("goreleaser: %w", err)
	}
	return openpgp.EntityList{key}, nil
}

// versionIn is the version that GoReleaser has given the snapshot.
func versionIn(dist, project string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dist, project+"_*_SHA256SUMS"))
	if err != nil {
		return "", fmt.Errorf("version find: %w", err)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("version find: %d files of checksums in %s", len(found), dist)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), project+"_"), "_SHA256SUMS"), nil
}
