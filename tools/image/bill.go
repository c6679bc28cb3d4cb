package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// spdx is the media type of a bill of material, as cosign writes it.
const spdx types.MediaType = "text/spdx+json"

// bill reads the bill of material of the index, or of a platform such as linux-amd64, out of
// the folder sbom. The names are ko's.
func (r request) bill(of string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(r.out, "sbom", path.Base(program)+"-"+of+".*"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d files for %s", len(files), of)
	}
	if err != nil {
		return nil, fmt.Errorf("bill of material find: %w", err)
	}
	return os.ReadFile(files[0])
}

// publishBills pushes the bill of material of the index and of each image in it.
func (r request) publishBills(index v1.ImageIndex, repository name.Repository, options []remote.Option) error {
	whole, err := index.Digest()
	if err != nil {
		return fmt.Errorf("image read: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("image read: %w", err)
	}
	digests := map[string]v1.Hash{}
	if len(manifest.Manifests) > 1 { // an index of one image has nothing of its own
		digests["index"] = whole
	}
	for _, m := range manifest.Manifests {
		digests[m.Platform.OS+"-"+m.Platform.Architecture] = m.Digest
	}
	for of, digest := range digests {
		text, err := r.bill(of)
		if err != nil {
			return err
		}
		image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(text, spdx))
		if err != nil {
			return fmt.Errorf("bill of material wrap: %w", err)
		}
		if err := remote.Write(repository.Tag(digest.Algorithm+"-"+digest.Hex+".sbom"), image, options...); err != nil {
			return fmt.Errorf("bill of material push: %w", err)
		}
	}
	return nil
}
