package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

type kubelet struct {
	ClusterDNS                  types.List  `tfsdk:"cluster_dns"`
	MaxPods                     types.Int32 `tfsdk:"max_pods"`
	PodsPerCore                 types.Int32 `tfsdk:"pods_per_core"`
	SystemReserved              types.Map   `tfsdk:"system_reserved"`
	KubeReserved                types.Map   `tfsdk:"kube_reserved"`
	EvictionHard                types.Map   `tfsdk:"eviction_hard"`
	EvictionSoft                types.Map   `tfsdk:"eviction_soft"`
	EvictionSoftGracePeriod     types.Map   `tfsdk:"eviction_soft_grace_period"`
	EvictionMaxPodGracePeriod   types.Int32 `tfsdk:"eviction_max_pod_grace_period"`
	ImageGCHighThresholdPercent types.Int32 `tfsdk:"image_gc_high_threshold_percent"`
	ImageGCLowThresholdPercent  types.Int32 `tfsdk:"image_gc_low_threshold_percent"`
	CPUCFSQuota                 types.Bool  `tfsdk:"cpu_cfs_quota"`
}

func kubeletType() types.ObjectType {
	texts := types.MapType{ElemType: types.StringType}
	return objectType(map[string]attr.Type{
		"cluster_dns": types.ListType{ElemType: types.StringType}, "max_pods": types.Int32Type, "pods_per_core": types.Int32Type,
		"system_reserved": texts, "kube_reserved": texts,
		"eviction_hard": texts, "eviction_soft": texts, "eviction_soft_grace_period": texts, "eviction_max_pod_grace_period": types.Int32Type,
		"image_gc_high_threshold_percent": types.Int32Type, "image_gc_low_threshold_percent": types.Int32Type, "cpu_cfs_quota": types.BoolType,
	})
}

// kubeletConfiguration is nil if no attribute is set.
func kubeletConfiguration(ctx context.Context, o types.Object, diags *diag.Diagnostics) *awsv1.KubeletConfiguration {
	k := object[kubelet](ctx, o, diags)
	if k == nil {
		return nil
	}
	number := func(n types.Int32) *int32 { return pointer(n, n.ValueInt32()) }
	out := &awsv1.KubeletConfiguration{
		ClusterDNS: knownStrings(k.ClusterDNS.Elements()), MaxPods: number(k.MaxPods), PodsPerCore: number(k.PodsPerCore),
		SystemReserved: namedStrings[awsv1.ReservedQuantity](k.SystemReserved), KubeReserved: namedStrings[awsv1.ReservedQuantity](k.KubeReserved),
		EvictionHard: namedStrings[awsv1.EvictionThreshold](k.EvictionHard), EvictionSoft: namedStrings[awsv1.EvictionThreshold](k.EvictionSoft),
		EvictionSoftGracePeriod: Strings(k.EvictionSoftGracePeriod), EvictionMaxPodGracePeriod: number(k.EvictionMaxPodGracePeriod),
		ImageGCHighThresholdPercent: number(k.ImageGCHighThresholdPercent), ImageGCLowThresholdPercent: number(k.ImageGCLowThresholdPercent),
		CPUCFSQuota: pointer(k.CPUCFSQuota, k.CPUCFSQuota.ValueBool()),
	}
	if equality.Semantic.DeepEqual(*out, awsv1.KubeletConfiguration{}) {
		return nil
	}
	return out
}

// kubeletOf is the reverse of kubeletConfiguration.
func kubeletOf(k *awsv1.KubeletConfiguration) *kubelet {
	if k == nil {
		return nil
	}
	return &kubelet{
		ClusterDNS: stringList(k.ClusterDNS), MaxPods: types.Int32PointerValue(k.MaxPods), PodsPerCore: types.Int32PointerValue(k.PodsPerCore),
		SystemReserved: namedStringMap(k.SystemReserved), KubeReserved: namedStringMap(k.KubeReserved),
		EvictionHard: namedStringMap(k.EvictionHard), EvictionSoft: namedStringMap(k.EvictionSoft),
		EvictionSoftGracePeriod: StringMap(k.EvictionSoftGracePeriod), EvictionMaxPodGracePeriod: types.Int32PointerValue(k.EvictionMaxPodGracePeriod),
		ImageGCHighThresholdPercent: types.Int32PointerValue(k.ImageGCHighThresholdPercent),
		ImageGCLowThresholdPercent:  types.Int32PointerValue(k.ImageGCLowThresholdPercent),
		CPUCFSQuota:                 types.BoolPointerValue(k.CPUCFSQuota),
	}
}

// namedStrings is Strings for a map of the API whose values have a type of their own.
func namedStrings[T ~string](m types.Map) map[string]T {
	var out map[string]T
	for key, value := range Strings(m) {
		if out == nil {
			out = map[string]T{}
		}
		out[key] = T(value)
	}
	return out
}

// namedStringMap is the reverse of namedStrings.
func namedStringMap[T ~string](m map[string]T) types.Map {
	texts := make(map[string]string, len(m))
	for key, value := range m {
		texts[key] = string(value)
	}
	return StringMap(texts)
}
