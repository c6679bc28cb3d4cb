package embedded

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
)

//go:generate go run ./gen

//go:embed blob
var blob embed.FS

const (
	folder    = "blob/"
	suffix    = ".tsv.gz"
	typesFile = "types"
	// volumesFile has the prices of volumes in all regions. The reference region has
	// all of them, and stands in for a region that lacks some.
	volumesFile     = "volumes"
	referenceRegion = "us-east-1"
)

//nolint:gochecknoglobals // decoded once for the whole process; nothing else is ever assigned
var (
	types   = sync.OnceValues(decodeTypes)
	volumes = sync.OnceValues(decodeVolumes)
	regions = sync.OnceValue(findRegions)
)

type market struct {
	value catalog.Market
	err   error
}

// Load returns the facts of all instance types, sorted by name, and the
// region's market. An unknown region is ErrUnknownRegion.
func Load(region string) ([]catalog.Fact, catalog.Market, error) {
	decode, known := regions()[region]
	if !known {
		return nil, catalog.Market{}, fmt.Errorf("%w: %q; known are %s", ErrUnknownRegion, region, strings.Join(Regions(), ", "))
	}
	t, err := types()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	m := decode()
	if m.err != nil {
		return nil, catalog.Market{}, m.err
	}
	v, err := volumes()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	m.value.Sources = slices.Concat(t.Sources, m.value.Sources, v.Sources)
	m.value.Volumes = v.In(region, referenceRegion)
	return t.Facts, m.value, nil
}

// Elsewhere returns the facts of all instance types for a region that Load does not know,
// and a market that sells nothing: only AWS can say what it sells there. Volumes cost as in
// the reference region.
func Elsewhere(region string) ([]catalog.Fact, catalog.Market, error) {
	t, err := types()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	v, err := volumes()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	return t.Facts, catalog.Market{Region: region, Sources: slices.Concat(t.Sources, v.Sources), Volumes: v.In(region, referenceRegion)}, nil
}

// Regions lists the regions that Load knows, sorted.
func Regions() []string {
	var names []string
	for name := range regions() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func findRegions() map[string]func() market {
	files, err := blob.ReadDir(strings.TrimSuffix(folder, "/"))
	if err != nil {
		panic(err) //nolint:forbidigo // the folder is compiled in, or the program would not build
	}
	found := make(map[string]func() market, len(files))
	for _, file := range files {
		if name := strings.TrimSuffix(file.Name(), suffix); name != typesFile && name != volumesFile {
			found[name] = sync.OnceValue(func() market {
				m, err := decodeMarket(name)
				return market{m, err}
			})
		}
	}
	return found
}

func decodeTypes() (facts.Types, error) {
	data, err := unpack(typesFile)
	if err != nil {
		return facts.Types{}, err
	}
	return facts.DecodeTypes(data)
}

func decodeVolumes() (facts.Volumes, error) {
	data, err := unpack(volumesFile)
	if err != nil {
		return facts.Volumes{}, err
	}
	return facts.DecodeVolumes(data)
}

func decodeMarket(region string) (catalog.Market, error) {
	data, err := unpack(region)
	if err != nil {
		return catalog.Market{}, err
	}
	return facts.DecodeMarket(region, data)
}

func unpack(name string) ([]byte, error) {
	packed, err := blob.ReadFile(folder + name + suffix)
	if err != nil {
		return nil, fmt.Errorf("catalogue read: %w", err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("catalogue unpack %s: %w", name, err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("catalogue unpack %s: %w", name, err)
	}
	return data, nil
}
