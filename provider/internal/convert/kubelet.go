package convert

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

type kubelet struct {
	ClusterDNS                  types.List    `tfsdk:"cluster_dns"`
	MaxPods                     types.String  `tfsdk:"max_pods"`
	PodsPerCore                 types.Int32   `tfsdk:"pods_per_core"`
	SystemReserved              types.Map     `tfsdk:"system_reserved"`
	KubeReserved                types.Map     `tfsdk:"kube_reserved"`
	EvictionHard                types.Map     `tfsdk:"eviction_hard"`
	EvictionSoft                types.Map     `tfsdk:"eviction_soft"`
	EvictionSoftGracePeriod     types.Map     `tfsdk:"eviction_soft_grace_period"`
	EvictionMaxPodGracePeriod   types.Int32   `tfsdk:"eviction_max_pod_grace_period"`
	ImageGCHighThresholdPercent types.Int32   `tfsdk:"image_gc_high_threshold_percent"`
	ImageGCLowThresholdPercent  types.Int32   `tfsdk:"image_gc_low_threshold_percent"`
	CPUCFSQuota                 types.Bool    `tfsdk:"cpu_cfs_quota"`
	Extra                       types.Dynamic `tfsdk:"extra"`
}

func kubeletType() types.ObjectType {
	texts := types.MapType{ElemType: types.StringType}
	return objectType(map[string]attr.Type{
		"cluster_dns": types.ListType{ElemType: types.StringType}, "max_pods": types.StringType, "pods_per_core": types.Int32Type,
		"system_reserved": texts, "kube_reserved": texts,
		"eviction_hard": texts, "eviction_soft": texts, "eviction_soft_grace_period": texts, "eviction_max_pod_grace_period": types.Int32Type,
		"image_gc_high_threshold_percent": types.Int32Type, "image_gc_low_threshold_percent": types.Int32Type, "cpu_cfs_quota": types.BoolType,
		"extra": types.DynamicType,
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
		ClusterDNS: knownStrings(k.ClusterDNS.Elements()), MaxPods: podsOf(k.MaxPods), PodsPerCore: number(k.PodsPerCore),
		SystemReserved: namedStrings[awsv1.ReservedQuantity](k.SystemReserved), KubeReserved: namedStrings[awsv1.ReservedQuantity](k.KubeReserved),
		EvictionHard: namedStrings[awsv1.EvictionThreshold](k.EvictionHard), EvictionSoft: namedStrings[awsv1.EvictionThreshold](k.EvictionSoft),
		EvictionSoftGracePeriod: Strings(k.EvictionSoftGracePeriod), EvictionMaxPodGracePeriod: number(k.EvictionMaxPodGracePeriod),
		ImageGCHighThresholdPercent: number(k.ImageGCHighThresholdPercent), ImageGCLowThresholdPercent: number(k.ImageGCLowThresholdPercent),
		CPUCFSQuota: pointer(k.CPUCFSQuota, k.CPUCFSQuota.ValueBool()),
	}
	fields, _ := plainValue(k.Extra)
	further, _ := fields.(map[string]any) // what is no object has been refused
	for name, value := range further {
		if err := out.SetFurther(name, value); err != nil {
			diags.AddError("Cannot write the kubelet's settings", err.Error()+".")
		}
	}
	if equality.Semantic.DeepEqual(*out, awsv1.KubeletConfiguration{}) {
		return nil
	}
	return out
}

// podsOf reads a number, or else an expression.
func podsOf(text types.String) *intstr.IntOrString {
	if !known(text) {
		return nil
	}
	if n, err := strconv.ParseInt(text.ValueString(), 10, 32); err == nil {
		return awsv1.Pods(int32(n))
	}
	return awsv1.PodExpression(text.ValueString())
}

// kubeletOf is the reverse of kubeletConfiguration.
func kubeletOf(ctx context.Context, k *awsv1.KubeletConfiguration, diags *diag.Diagnostics) *kubelet {
	if k == nil {
		return nil
	}
	out := &kubelet{
		ClusterDNS: stringList(k.ClusterDNS), PodsPerCore: types.Int32PointerValue(k.PodsPerCore),
		SystemReserved: namedStringMap(k.SystemReserved), KubeReserved: namedStringMap(k.KubeReserved),
		EvictionHard: namedStringMap(k.EvictionHard), EvictionSoft: namedStringMap(k.EvictionSoft),
		EvictionSoftGracePeriod: StringMap(k.EvictionSoftGracePeriod), EvictionMaxPodGracePeriod: types.Int32PointerValue(k.EvictionMaxPodGracePeriod),
		ImageGCHighThresholdPercent: types.Int32PointerValue(k.ImageGCHighThresholdPercent),
		ImageGCLowThresholdPercent:  types.Int32PointerValue(k.ImageGCLowThresholdPercent),
		CPUCFSQuota:                 types.BoolPointerValue(k.CPUCFSQuota),
	}
	if k.MaxPods != nil {
		out.MaxPods = types.StringValue(k.MaxPods.String())
	}
	extra, err := dynamicOf(ctx, k.Further)
	if err != nil {
		diags.AddError("Cannot read the kubelet's settings", err.Error()+".")
	}
	out.Extra = extra
	return out
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
