// Package region tells regions of AWS from misspelt ones. It is pure: the list is that of
// aws-sdk-go-base, and no network is asked.
package region

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/aws-sdk-go-base/v2/endpoints"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// known lists the regions of all partitions, sorted.
func known() []string {
	var regions []string
	for _, partition := range endpoints.DefaultPartitions() {
		regions = slices.AppendSeq(regions, maps.Keys(partition.Regions()))
	}
	slices.Sort(regions)
	return regions
}

// Check refuses a name that is not a known region and suggests the nearest one.
func Check(name string) error {
	all := known()
	if slices.Contains(all, name) {
		return nil
	}
	return fmt.Errorf("%q is not an AWS region that this version of the provider knows; did you mean %q? If the region is newer than this version, set skip_region_validation = true", name, nearest(name, all))
}

// nearest is the region with the smallest edit distance, the first of several.
func nearest(name string, regions []string) string {
	return slices.MinFunc(regions, func(a, b string) int { return pick.Distance(name, a) - pick.Distance(name, b) })
}
