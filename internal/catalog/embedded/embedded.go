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
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
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
	// pricesFile has on-demand prices of regions whose offerings nobody has recorded.
	pricesFile = "prices"
)

//nolint:gochecknoglobals // decoded once for the whole process; nothing else is ever assigned
var (
	types   = sync.OnceValues(decodeTypes)
	volumes = sync.OnceValues(decodeVolumes)
	prices  = sync.OnceValues(decodePrices)
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
	m.value.Elsewhere, err = elsewhere(region)
	return t.Facts, m.value, err
}

// Elsewhere returns the facts of all instance types for a region that Load does not know,
// and a market that sells nothing: only AWS can say what it sells there. It has on-demand
// prices for the regions of aws-us-gov and for cn-north-1. Volumes cost as in the reference
// region.
func Elsewhere(region string) ([]catalog.Fact, catalog.Market, error) {
	t, err := types()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	v, err := volumes()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	p, err := prices()
	if err != nil {
		return nil, catalog.Market{}, err
	}
	m := catalog.Market{Region: region, Sources: slices.Clone(t.Sources), Volumes: v.In(region, referenceRegion)}
	if of, source, known := p.In(region); known {
		m.OnDemand, m.Sources = of, append(m.Sources, source)
	}
	m.Sources = append(m.Sources, v.Sources...)
	m.Elsewhere, err = elsewhere(region)
	return t.Facts, m, err
}

// kin lists regions whose prices stand in for those of a region that begins so, the nearest
// kind first. A partition's own regions come before those of others, as it has its own level
// of prices, and its own currency. The reference region stands in for all.
func kin(region string) []string {
	for _, k := range []struct {
		begins string
		then   []string
	}{
		{"us-gov-", []string{"us-gov-west-1", "us-gov-east-1"}},
		{"cn-", []string{"cn-north-1"}},
		{"eusc-", []string{"eu-central-1"}},
		{"eu-", []string{"eu-central-1", "eu-west-1"}},
		{"ap-", []string{"ap-southeast-1", "ap-northeast-1"}},
		{"sa-", []string{"sa-east-1"}},
		{"ca-", []string{"ca-central-1"}},
		{"me-", []string{"me-central-1"}},
	} {
		if strings.HasPrefix(region, k.begins) {
			return append(k.then, referenceRegion)
		}
	}
	return []string{referenceRegion}
}

// elsewhere returns the on-demand prices of the region's kin.
func elsewhere(region string) ([]map[string]quantity.Money, error) {
	p, err := prices()
	if err != nil {
		return nil, err
	}
	var out []map[string]quantity.Money
	for _, name := range kin(region) {
		if name == region {
			continue
		}
		of, _, known := p.In(name)
		if decode := regions()[name]; !known && decode != nil {
			m := decode()
			if m.err != nil {
				return nil, m.err
			}
			of, known = m.value.OnDemand, true
		}
		if known {
			out = append(out, of)
		}
	}
	return out, nil
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
		if name := strings.TrimSuffix(file.Name(), suffix); name != typesFile && name != volumesFile && name != pricesFile {
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

func decodePrices() (facts.Prices, error) {
	data, err := unpack(pricesFile)
	if err != nil {
		return facts.Prices{}, err
	}
	return facts.DecodePrices(data)
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
