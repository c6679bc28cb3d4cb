package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// program is the package that the image runs.
const program = "./daemon/cmd/karpenterd"

// request is one build.
type request struct {
	repository, base, version, out, source string
	architectures                          []string // as chosen returns them
	push, sign                             bool
}

// run builds, checks, pushes and signs. It returns the digest of the index, which stands for
// all architectures. w gets the progress.
func (r request) run(ctx context.Context, w io.Writer) (string, error) {
	if r.base == "" {
		pinned, err := baseOf(pinnedBase)
		if err != nil {
			return "", err
		}
		r.base = pinned
	}
	repository, base, err := r.names()
	if err != nil {
		return "", err
	}
	if err := checkBase(ctx, base, r.architectures); err != nil {
		return "", err
	}
	// Built into a registry of our own: what fails the check must not be in the user's.
	local, err := startLocal(ctx)
	if err != nil {
		return "", err
	}
	defer local.close()
	reference, err := r.build(ctx, w, local)
	if err != nil {
		return "", err
	}
	index, digest, err := built(ctx, reference)
	if err != nil {
		return "", err
	}
	if err := checkIndex(index, r.architectures); err != nil {
		return "", err
	}
	if err := keep(index, filepath.Join(r.out, "oci")); err != nil {
		return "", err
	}
	if !r.push {
		return digest.String(), nil
	}
	target := repository.Digest(digest.String())
	if err := r.publish(ctx, w, index, repository, target); err != nil {
		return "", err
	}
	_, _ = fmt.Fprintf(w, "pushed %s\n", target)
	if r.sign {
		return digest.String(), sign(ctx, w, target)
	}
	return digest.String(), nil
}

// names reads the names, and says what is missing.
func (r request) names() (name.Repository, name.Digest, error) {
	var faults []error
	repository, err := name.NewRepository(r.repository, name.StrictValidation)
	if err != nil {
		faults = append(faults, fmt.Errorf("REPOSITORY is %q: give the registry and the path where the image belongs, such as REPOSITORY=registry.example.com/karpenterd/karpenterd", r.repository))
	}
	base, err := name.NewDigest(r.base, name.StrictValidation)
	if err != nil {
		faults = append(faults, fmt.Errorf("BASE_IMAGE is %q: give the base by digest, BASE_IMAGE=name@sha256:...: an image with CA roots and without a shell; without BASE_IMAGE, it is that of tools/image/base.txt", r.base))
	}
	if r.out == "" {
		faults = append(faults, errors.New("no folder to write to: give -out"))
	}
	for _, a := range r.architectures {
		if !slices.Contains(architectures(), a) {
			faults = append(faults, fmt.Errorf("ARCHITECTURES has %q: give those of the cluster's nodes, separated by a comma, of %s", a, strings.Join(architectures(), " and ")))
		}
	}
	if r.sign && !r.push {
		faults = append(faults, errors.New("SIGN is set without PUSH: only an image in a registry can be signed, so set PUSH=1, too"))
	}
	if r.sign && len(r.architectures) < len(architectures()) {
		faults = append(faults, fmt.Errorf("SIGN is set, and ARCHITECTURES has %s alone: what is signed is for all nodes, so leave out ARCHITECTURES", strings.Join(r.architectures, ", ")))
	}
	return repository, base, errors.Join(faults...)
}

// build runs ko and returns the reference of the image, which is in the local registry. A bill
// of material for the index and each image comes to the folder sbom.
func (r request) build(ctx context.Context, w io.Writer, local local) (string, error) {
	found, err := toolchain.Ensure(ctx, w, toolchain.Ko)
	if err != nil {
		return "", err
	}
	source := r.source
	if source == "" {
		if source, err = toolchain.Root(); err != nil {
			return "", err
		}
	}
	out, err := filepath.Abs(r.out)
	if err != nil {
		return "", fmt.Errorf("folder find: %w", err)
	}
	for _, part := range []string{"oci", "sbom"} {
		if err := os.RemoveAll(filepath.Join(out, part)); err != nil {
			return "", fmt.Errorf("folder clear: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(out, "sbom"), 0o750); err != nil {
		return "", fmt.Errorf("folder make: %w", err)
	}
	unlock, err := toolchain.LockCache(ctx, w, "image")
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := exec.CommandContext(ctx, found[toolchain.Ko].Path, "build", program, "--bare",
		"--platform=linux/"+strings.Join(r.architectures, ",linux/"), "--sbom=spdx", "--sbom-dir="+filepath.Join(out, "sbom"))
	var said strings.Builder // the reference; progress goes to standard error
	cmd.Dir, cmd.Stdout, cmd.Stderr = source, &said, w
	// What would change the program without a trace in the source is set here.
	cmd.Env = append(os.Environ(), "KO_DOCKER_REPO="+local.host+"/image", "KO_DEFAULTBASEIMAGE="+r.base, "VERSION="+cmp.Or(r.version, "dev"),
		"KO_CONFIG_PATH="+filepath.Join(source, ".ko.yaml"), "SOURCE_DATE_EPOCH=", "KO_DATA_DATE_EPOCH=", "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ko build: %w", err)
	}
	return strings.TrimSpace(said.String()), nil
}

// built reads what ko has made, while the local registry runs. Of one image, which ko makes for
// one architecture, it makes an index, so that all that follows has one.
func built(ctx context.Context, said string) (v1.ImageIndex, v1.Hash, error) {
	reference, err := name.NewDigest(said, name.StrictValidation)
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("image find: ko says %q, and one image by digest was expected: %w", said, err)
	}
	made, err := remote.Get(reference, remote.WithContext(ctx))
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("image read: %w", err)
	}
	index, err := made.ImageIndex()
	if made.MediaType.IsImage() {
		index, err = alone(made)
	}
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("image read: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("image read: %w", err)
	}
	return index, digest, nil
}

// alone is an index of one image.
func alone(made *remote.Descriptor) (v1.ImageIndex, error) {
	image, err := made.Image()
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	kind := types.OCIImageIndex
	if made.MediaType == types.DockerManifestSchema2 {
		kind = types.DockerManifestList
	}
	of := v1.Descriptor{Platform: config.Platform()}
	return mutate.IndexMediaType(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image, Descriptor: of}), kind), nil
}

// keep writes the image to a folder in the layout of OCI.
func keep(index v1.ImageIndex, folder string) error {
	if _, err := layout.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index})); err != nil {
		return fmt.Errorf("image write: %w", err)
	}
	return nil
}

// publish pushes the image by digest, by the tag of its version, and its bill of material
// under the tag that cosign reads, sha256-<digest>.sbom.
func (r request) publish(ctx context.Context, w io.Writer, index v1.ImageIndex, repository name.Repository, target name.Digest) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(target, index, options...); err != nil {
		return fmt.Errorf("image push: %w", err)
	}
	if r.version != "" {
		tag := repository.Tag(r.version)
		if err := remote.Tag(tag, index, options...); err != nil {
			return fmt.Errorf("image tag: %w", err)
		}
		_, _ = fmt.Fprintf(w, "tagged %s\n", tag)
	}
	return r.publishBills(index, repository, options)
}

// sign signs the index and the image of each architecture. Cosign takes its key from
// COSIGN_KEY, or asks the identity provider of the machine (keyless).
func sign(ctx context.Context, w io.Writer, target name.Digest) error {
	cosign, err := exec.LookPath("cosign")
	if err != nil {
		return errors.New("SIGN is set, and cosign is not on PATH: install it from https://github.com/sigstore/cosign/releases, then run `cosign sign --recursive " + target.String() + "`")
	}
	args := []string{"sign", "--yes", "--recursive"}
	if key := os.Getenv("COSIGN_KEY"); key != "" {
		args = append(args, "--key", key)
	}
	cmd := exec.CommandContext(ctx, cosign, append(args, target.String())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cosign sign %s: %w", target, err)
	}
	return nil
}
