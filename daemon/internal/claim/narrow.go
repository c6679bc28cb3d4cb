package claim

import (
	"slices"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// mostTypes is how many instance types one launch request has at most, as with
// Karpenter. The request is an annotation of its NodeClaim, and all types of a region in
// three zones are more than the 256 KiB that the API server lets annotations have. What
// EC2 cannot launch of so many types, the dearer ones seldom help out with.
const mostTypes = 60

// narrowed returns the overrides of the cheapest types, up to mostTypes. A type counts
// with its cheapest zone, and keeps all its zones. Types that the NodeClaim needs for its
// minValues come first. The overrides are sorted by price.
func narrowed(claim *v1.NodeClaim, overrides []aws.Override, types map[string]catalog.InstanceType) []aws.Override {
	if len(types) <= mostTypes {
		return overrides
	}
	wanted := map[string]bool{}
	for _, r := range claim.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		values := map[string]bool{}
		for _, o := range overrides {
			value, there := valueOf(o, types, label.Canonical(r.Key))
			if there && !values[value] && len(values) < *r.MinValues && (wanted[o.InstanceType] || len(wanted) < mostTypes) {
				values[value], wanted[o.InstanceType] = true, true
			}
		}
	}
	for _, priced := range [2]bool{true, false} { // what has no price may cost anything
		for _, o := range overrides {
			if len(wanted) < mostTypes && (o.Priority > 0) == priced {
				wanted[o.InstanceType] = true
			}
		}
	}
	return pick.Those(overrides, func(o aws.Override) bool { return wanted[o.InstanceType] })
}

// valueOf is the label of an instance of the override.
func valueOf(o aws.Override, types map[string]catalog.InstanceType, key string) (string, bool) {
	switch key {
	case label.Zone:
		return o.Zone, true
	case label.InstanceType:
		return o.InstanceType, true
	}
	return types[o.InstanceType].Labels.Get(key)
}

// suited returns the types that meet the requirements of the NodeClaim which instance
// types decide. Where the NodeClaim does not list types, they also hold what it requests;
// if none does, that is no matter.
func suited(claim cluster.Claim, types []catalog.InstanceType) []catalog.InstanceType {
	var decided label.Requirements = pick.Those(claim.Requirements, func(r label.Requirement) bool {
		return r.Key() != label.InstanceType && slices.ContainsFunc(types, func(t catalog.InstanceType) bool { _, there := t.Labels.Get(r.Key()); return there })
	})
	types = pick.Those(types, func(t catalog.InstanceType) bool { _, unmet := decided.Unmet(t.Labels); return !unmet })
	if r, there := claim.Requirements.Get(label.InstanceType); there {
		if _, listed := r.Values(); listed {
			return types
		}
	}
	if large := pick.Those(types, func(t catalog.InstanceType) bool { return claim.Requests.Fits(t.Allocatable) }); len(large) > 0 {
		return large
	}
	return types
}
