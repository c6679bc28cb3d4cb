package provider

import (
	"fmt"
	"maps"
	"slices"

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
		Optional: true, MarkdownDescription: "Configuration of the kubelet.",
		Attributes: map[string]schema.Attribute{
			"cluster_dns": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "IP addresses of the DNS servers that pods use. Default: the address that EKS gives to the cluster's DNS service.",
			},
			"max_pods": number("Largest number of pods on a node. Default: the number that the network interfaces of the instance type allow."),
			"pods_per_core": number("Largest number of pods on a node for each of its vCPUs. It counts if the result is smaller " +
				"than `max_pods` or its default. `0` means no limit."),
			"system_reserved": texts("What the kubelet keeps from pods for the system: quantities of `cpu`, `memory`, `ephemeral-storage` and `pid`, " +
				"such as `100m` and `100Mi`. Default: nothing."),
			"kube_reserved": texts("What the kubelet keeps from pods for itself and the container runtime: quantities of `cpu`, `memory`, `ephemeral-storage` " +
				"and `pid`. Default of each: what Amazon Linux 2023 keeps, which depends on the instance type."),
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
		},
	}
}

// kubeletFaults names the values with which a kubelet does not start, one for each
// attribute. The definition has patterns for some of them, which say no remedy.
func kubeletFaults(k *awsv1.KubeletConfiguration) []translate.Fault {
	if k == nil {
		return nil
	}
	var out []translate.Fault
	note := func(f *translate.Fault) {
		if f != nil {
			out = append(out, *f)
		}
	}
	note(firstFault("systemReserved", k.SystemReserved, translate.IsReserved, "write a quantity such as 100m or 1Gi, 0 or more"))
	note(firstFault("kubeReserved", k.KubeReserved, translate.IsReserved, "write a quantity such as 100m or 1Gi, 0 or more"))
	const threshold = "write a quantity above 0 such as 100Mi, or a percentage up to 100% such as 5%"
	note(firstFault("evictionHard", k.EvictionHard, translate.IsThreshold, threshold))
	note(firstFault("evictionSoft", k.EvictionSoft, translate.IsThreshold, threshold))
	note(firstFault("evictionSoftGracePeriod", k.EvictionSoftGracePeriod, translate.IsGracePeriod, "write a duration such as 1m30s, 0s or more"))
	return out
}

// firstFault is about the first of the named values that the test refuses.
func firstFault[T ~string](field string, values map[string]T, test func(string) bool, remedy string) *translate.Fault {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text := string(values[name]); !test(text) {
			return &translate.Fault{Path: "spec.kubelet." + field, Effect: fmt.Sprintf("the kubelet does not start with %q for %s", text, name), Remedy: remedy}
		}
	}
	return nil
}

// withoutUnknownPartner leaves out both thresholds of image collection if one is
// unknown: the other one alone would be compared with the kubelet's default.
func withoutUnknownPartner(config types.Object, k *awsv1.KubeletConfiguration) {
	attributes := config.Attributes()
	for _, name := range []string{"image_gc_high_threshold_percent", "image_gc_low_threshold_percent"} {
		if v, ok := attributes[name]; ok && v.IsUnknown() && k != nil {
			k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent = nil, nil
		}
	}
}
