package claim

import (
	"slices"
	"strings"

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

// mostOverrides is how many overrides a launch request has at most, a type in a zone each: some
// 80 KiB. Where a class has subnets in very many zones, the request has fewer types.
const mostOverrides = 400

// mostTemplates is how many launch templates one request has at most, as many as EC2 takes for a
// fleet. There is more than one where kubelets are told other settings on each type.
const mostTemplates = 50

// typesOf is how many types a request for these overrides has at most. It depends on the zones
// alone, and not on prices.
func typesOf(overrides []aws.Override) int {
	zones := map[string]bool{}
	for _, o := range overrides {
		zones[o.Zone] = true
	}
	return min(mostTypes, max(1, mostOverrides/max(1, len(zones))))
}

// narrowed returns the overrides of the cheapest types, up to typesOf. A type counts
// with its cheapest zone, and keeps all its zones. Types that the NodeClaim needs for its
// minValues come first. The overrides are sorted by price. A type whose launch template would be
// one too many is left out.
func narrowed(claim *v1.NodeClaim, overrides []aws.Override, types map[string]catalog.InstanceType, tells func(catalog.InstanceType) told) []aws.Override {
	most := min(typesOf(overrides), len(types))
	templates := map[told]bool{}
	for _, o := range overrides {
		templates[tells(types[o.InstanceType])] = true
	}
	if len(types) <= most && len(templates) <= mostTemplates {
		return overrides
	}
	clear(templates)
	wanted := map[string]bool{}
	takes := func(o aws.Override) bool {
		its := tells(types[o.InstanceType])
		if !wanted[o.InstanceType] && (len(wanted) >= most || !templates[its] && len(templates) >= mostTemplates) {
			return false
		}
		wanted[o.InstanceType], templates[its] = true, true
		return true
	}
	for _, r := range claim.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		values := map[string]bool{}
		for _, o := range overrides {
			value, there := valueOf(o, types, label.Canonical(r.Key))
			if there && !values[value] && len(values) < *r.MinValues && takes(o) {
				values[value] = true
			}
		}
	}
	for _, priced := range [2]bool{true, false} { // what has no price may cost anything
		for _, o := range overrides {
			if (o.Priority > 0) == priced {
				takes(o)
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
// types decide. Where the NodeClaim does not list types, they also hold what it requests.
func suited(claim cluster.Claim, types []catalog.InstanceType) []catalog.InstanceType {
	var decided label.Requirements = pick.Those(claim.Requirements, func(r label.Requirement) bool {
		ofType := strings.HasPrefix(r.Key(), catalog.LabelPrefix) && r.Key() != label.Tenancy // also where none of the types has it
		return ofType || r.Key() != label.InstanceType && slices.ContainsFunc(types, func(t catalog.InstanceType) bool { _, there := t.Labels.Get(r.Key()); return there })
	})
	types = pick.Those(types, func(t catalog.InstanceType) bool { _, unmet := decided.Unmet(t.Labels); return !unmet })
	if r, there := claim.Requirements.Get(label.InstanceType); there {
		if _, listed := r.Values(); listed {
			return types
		}
	}
	return pick.Those(types, func(t catalog.InstanceType) bool { return claim.Requests.Fits(t.Allocatable) })
}
