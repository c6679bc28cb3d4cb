package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Karpenter publishes its tables as Go files that a program has written. They are read as text:
// the packages that have them need all of Karpenter, and a newer Go than this module.
var (
	tableDate      = regexp.MustCompile(`// generated at ([0-9]{4}-[0-9]{2}-[0-9]{2})T`)
	tableRegion    = regexp.MustCompile(`^\t"([a-z0-9-]+)": \{$`)
	tablePrice     = regexp.MustCompile(`"([a-z0-9-]+\.[a-z0-9-]+)": +([0-9.]+), ?`)
	tableBandwidth = regexp.MustCompile(`(?m)^\t\t"([a-z0-9-]+\.[a-z0-9-]+)": +([0-9]+),$`)
	moduleVersion  = regexp.MustCompile(`/karpenter-provider-aws@(v[0-9][^/]*)$`)
)

// tableBegin ends the line before the first region.
const tableBegin = "map[string]map[ec2types.InstanceType]float64{"

var (
	errKarpenter = errors.New("-karpenter names no folder of a release of karpenter-provider-aws in the module cache; `go mod download -json github.com/aws/karpenter-provider-aws`, run in tools/peer, prints it as Dir")
	errTable     = errors.New("not a table that Karpenter has written")
)

// karpenter is the source of a release of karpenter-provider-aws.
type karpenter struct{ folder, version string }

func findKarpenter(folder string) (karpenter, error) {
	version := moduleVersion.FindStringSubmatch(filepath.Clean(folder))
	if version == nil {
		return karpenter{}, fmt.Errorf("%q: %w", folder, errKarpenter)
	}
	return karpenter{folder, version[1]}, nil
}

// name is what facts say that they are from.
func (k karpenter) name() string { return "karpenter-provider-aws " + k.version }

func (k karpenter) read(path ...string) (string, error) {
	text, err := os.ReadFile(filepath.Join(append([]string{k.folder, "pkg", "providers"}, path...)...))
	if err != nil {
		return "", fmt.Errorf("table read: %w", err)
	}
	return string(text), nil
}

// prices reads a table of on-demand prices by region and type, and the day that it is of. A line
// that is not as Karpenter's program writes it is an error: what is passed over would be missed
// by nobody.
func (k karpenter) prices(file string) (date string, byRegion map[string]map[string]quantity.Money, err error) {
	text, err := k.read("pricing", file)
	if err != nil {
		return "", nil, err
	}
	day := tableDate.FindStringSubmatch(text)
	if day == nil {
		return "", nil, fmt.Errorf("%s: %w: it has no date", file, errTable)
	}
	byRegion = map[string]map[string]quantity.Money{}
	var into map[string]quantity.Money
	_, table, _ := strings.Cut(text, tableBegin)
	for line := range strings.SplitSeq(table, "\n") {
		region, words := tableRegion.FindStringSubmatch(line), strings.TrimSpace(line)
		switch {
		case words == "" || words == "}" || strings.HasPrefix(words, "//"):
		case words == "},":
			into = nil
		case len(region) > 0 && byRegion[region[1]] == nil:
			into = map[string]quantity.Money{}
			byRegion[region[1]] = into
		default:
			if err := addPrices(into, words); err != nil {
				return "", nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	for region, prices := range byRegion {
		if len(prices) == 0 {
			return "", nil, fmt.Errorf("%s: %w: %s has no prices", file, errTable, region)
		}
	}
	if len(byRegion) == 0 {
		return "", nil, fmt.Errorf("%s: %w: it has no regions", file, errTable)
	}
	return day[1], byRegion, nil
}

// addPrices reads a line of a region, such as "c5.large": 0.085000, "c5.xlarge": 0.170000, and so on.
func addPrices(into map[string]quantity.Money, line string) error {
	if rest := strings.TrimSpace(tablePrice.ReplaceAllString(line, "")); rest != "" || into == nil {
		return fmt.Errorf("%q: %w: want prices of a region", line, errTable)
	}
	for _, entry := range tablePrice.FindAllStringSubmatch(line, -1) {
		price, err := quantity.ParseMoney(entry[2])
		_, twice := into[entry[1]]
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w: %w", entry[1], errTable, err)
		case twice:
			return fmt.Errorf("%s: %w: it has two prices", entry[1], errTable)
		case price > 0:
			into[entry[1]] = price
		}
	}
	return nil
}

// bandwidth reads the table of EC2's documentation: megabits a second by type.
func (k karpenter) bandwidth() (map[string]int, error) {
	const file = "zz_generated.bandwidth.go"
	text, err := k.read("instancetype", file)
	if err != nil {
		return nil, err
	}
	mbps := map[string]int{}
	for _, entry := range tableBandwidth.FindAllStringSubmatch(text, -1) {
		if mbps[entry[1]], err = strconv.Atoi(entry[2]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w: %w", file, entry[1], errTable, err)
		}
	}
	if lines := strings.Count(text, "\n\t\t\""); len(mbps) == 0 || len(mbps) != lines {
		return nil, fmt.Errorf("%s: %w: it has %d types in %d lines", file, errTable, len(mbps), lines)
	}
	return mbps, nil
}

// source says where a group of facts is from that Karpenter publishes.
func (k karpenter) source(group, date, what string) catalog.Source {
	return catalog.Source{Group: group, Date: date, Text: k.name() + ", " + what}
}
