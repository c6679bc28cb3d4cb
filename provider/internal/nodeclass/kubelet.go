package nodeclass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// extraFaults says what extra must not have.
func extraFaults(config types.Object, k *awsv1.KubeletConfiguration) []translate.Fault {
	const at = "spec.kubelet.extra"
	if extra, is := config.Attributes()["extra"].(types.Dynamic); is && !extra.IsNull() && !extra.IsUnknown() {
		switch extra.UnderlyingValue().(type) {
		case types.Object, types.Map, nil:
		default:
			return []translate.Fault{{Path: at, Effect: "it is no object", Remedy: `write fields of the kubelet's configuration, such as { imageMaximumGCAge = "10m" }`}}
		}
	}
	if k == nil {
		return nil
	}
	var out []translate.Fault
	for _, name := range awsv1.KubeletFields() {
		if _, there := k.Further[name]; there {
			out = append(out, translate.Fault{Path: at, Effect: fmt.Sprintf("%q has an attribute of its own", name), Remedy: "write " + name + " in kubelet"})
		}
	}
	return out
}

// inExtra puts faults of further fields of the kubelet at the attribute that has them.
func inExtra(faults []translate.Fault) []translate.Fault {
	out := slices.Clone(faults)
	for i, f := range out {
		name, is := strings.CutPrefix(f.Path, "spec.kubelet.")
		if is && !slices.Contains(awsv1.KubeletFields(), name) {
			out[i].Path, out[i].Effect = "spec.kubelet.extra", fmt.Sprintf("%q: %s", name, f.Effect)
		}
	}
	return out
}

// withoutUnknownPartner leaves out settings that are compared with one that is unknown: the
// thresholds of image collection, which would be compared with the kubelet's default, and
// soft thresholds with their times.
func withoutUnknownPartner(config types.Object, k *awsv1.KubeletConfiguration) {
	if k == nil {
		return
	}
	attributes := config.Attributes()
	if someUnknown(attributes["image_gc_high_threshold_percent"], attributes["image_gc_low_threshold_percent"]) {
		k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent = nil, nil
	}
	if someUnknown(attributes["eviction_soft"], attributes["eviction_soft_grace_period"]) {
		k.EvictionSoft, k.EvictionSoftGracePeriod = nil, nil
	}
}

// someUnknown says whether one of the values, or an element of one, is unknown.
func someUnknown(values ...attr.Value) bool {
	return slices.ContainsFunc(values, func(v attr.Value) bool {
		m, is := v.(types.Map)
		return v != nil && v.IsUnknown() || is && someUnknown(slices.Collect(maps.Values(m.Elements()))...)
	})
}
