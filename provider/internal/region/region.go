// Package region owns the list of AWS regions. It is pure: a table, no network.
// Source: the partitions of the AWS SDK for Go v2 (endpoint rule sets), 2026-11.
package region

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// known lists the regions of all partitions, sorted.
func known() []string {
	return []string{
		"af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1",
		"ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5",
		"ap-southeast-6", "ap-southeast-7", "ca-central-1", "ca-west-1", "cn-north-1", "cn-northwest-1",
		"eu-central-1", "eu-central-2", "eu-isoe-west-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1",
		"eu-west-2", "eu-west-3", "eusc-de-east-1", "il-central-1", "me-central-1", "me-south-1", "mx-central-1",
		"sa-east-1", "us-east-1", "us-east-2", "us-gov-east-1", "us-gov-west-1", "us-iso-east-1", "us-iso-west-1",
		"us-isob-east-1", "us-isob-west-1", "us-isof-east-1", "us-isof-south-1", "us-west-1", "us-west-2",
	}
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
