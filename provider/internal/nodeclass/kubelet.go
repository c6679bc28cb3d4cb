package nodeclass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func kubeletAttribute() schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.Int32Attribute{Optional: true, MarkdownDescription: description}
	}
	texts := func(description string) schema.Attribute {
		return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "Configuration of the kubelet. See [The kubelet](../guides/karpenter_api.md#the-kubelet).",
		Attributes: map[string]schema.Attribute{
			"cluster_dns": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "IP addresses of the DNS servers that pods use. Default: the address that EKS gives to the cluster's DNS service.",
			},
			"max_pods": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Largest number of pods on a node, or an expression for it, such as `min(110, max_pods)`. " +
					"Default: the number that the network interfaces of the instance type allow.",
			},
			"pods_per_core": number("Largest number of pods on a node for each of its vCPUs. It counts if the result is smaller " +
				"than `max_pods` or its default. `0` means no limit."),
			"system_reserved": texts("What the kubelet keeps from pods for the system: quantities of `cpu`, `memory`, `ephemeral-storage` and `pid`, " +
				"such as `100m` and `100Mi`, or expressions such as `max_pods * 11`. Default: nothing."),
			"kube_reserved": texts("What the kubelet keeps from pods for itself and the container runtime: quantities of `cpu`, `memory`, `ephemeral-storage` " +
				"and `pid`, or expressions such as `max_pods * 11`. Default of each: what Amazon Linux 2023 keeps, which depends on the instance type."),
			"eviction_hard": texts("Thresholds below which the kubelet evicts pods at once, by signal: `memory.available`, `nodefs.available`, `nodefs.inodesFree`, " +
				"`imagefs.available`, `imagefs.inodesFree` and `pid.available`. A threshold is a quantity, such as `100Mi`, or a percentage of what the node has, such as `5%`. " +
				"Default: those of Amazon Linux 2023, among them `100Mi` of `memory.available` and `10%` of `nodefs.available`."),
			"eviction_soft": texts("Thresholds below which the kubelet evicts pods after a time, by signal, as in `eviction_hard`. " +
				"Each signal needs its time in `eviction_soft_grace_period`. Default: none."),
			"eviction_soft_grace_period": texts("Times after which the kubelet evicts pods, by signal in `eviction_soft`: durations such as `1m30s`."),
			"eviction_max_pod_grace_period": number("Longest time, in seconds, that a pod gets to end when the kubelet evicts it for a threshold in `eviction_soft`. " +
				"Default `0`: pods end at once."),
			"image_gc_high_threshold_percent": number("Use of the disk, 0 to 100 percent, above which the kubelet removes images that no container uses. " +
				"It is above `image_gc_low_threshold_percent`. Default `85`."),
			"image_gc_low_threshold_percent": number("Use of the disk, 0 to 100 percent, down to which the kubelet removes images. Default `80`."),
			"cpu_cfs_quota":                  schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether the kubelet enforces the CPU limits of containers. Default `true`."},
			"extra": schema.DynamicAttribute{
				Optional: true, MarkdownDescription: "Further fields of the kubelet's own configuration (`kubelet.config.k8s.io/v1beta1`), with its names, such as " +
					"`{ imageMaximumGCAge = \"10m\", featureGates = { NodeSwap = true } }`. With `AL2023` nodes get all of them, with `Bottlerocket` those that it has settings for, " +
					"and with `AL2` none is accepted.",
			},
		},
	}
}

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
