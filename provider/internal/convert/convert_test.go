package convert_test

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

func ptr[T any](v T) *T { return &v }

func fullPool() v1.NodePoolSpec {
	return v1.NodePoolSpec{
		Template: v1.NodeTemplate{
			ObjectMeta: v1.TemplateMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
			Spec: v1.NodeTemplateSpec{NodeSpec: v1.NodeSpec{
				Taints:                 []v1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}, {Key: "bare", Effect: corev1.TaintEffectNoExecute}},
				StartupTaints:          []v1.Taint{{Key: "s", Effect: corev1.TaintEffectNoSchedule}},
				Requirements:           []v1.Requirement{{Key: "x", Operator: "In", Values: []string{"1", "2"}, MinValues: ptr(2)}, {Key: "y", Operator: "Exists"}},
				NodeClassRef:           v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"},
				TerminationGracePeriod: &metav1.Duration{Duration: time.Hour},
				ExpireAfter:            &v1.NillableDuration{Duration: 48 * time.Hour},
			}},
		},
		Disruption: v1.Disruption{
			ConsolidationPolicy: v1.ConsolidationWhenEmpty, ConsolidateAfter: v1.NillableDuration{Never: true},
			Budgets: []v1.Budget{{Nodes: "0", Reasons: []v1.DisruptionReason{"Drifted", "Empty"}, Schedule: ptr("@daily"), Duration: &metav1.Duration{Duration: time.Hour}}, {Nodes: "10%"}},
		},
		Limits: corev1.ResourceList{"cpu": resource.MustParse("10"), v1.ResourceNodes: resource.MustParse("3")},
		Weight: ptr[int32](7), Replicas: ptr[int64](5),
	}
}

func fullClass() awsv1.EC2NodeClassSpec {
	return awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: map[string]string{"a": "*"}}, {ID: "subnet-1"}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: map[string]string{"a": "b"}}, {ID: "sg-1"}, {Name: "n"}},
		CapacityReservationSelectorTerms: []awsv1.CapacityReservationSelectorTerm{
			{ID: "cr-1"}, {Tags: map[string]string{"a": "*"}, OwnerID: "123456789012", InstanceMatchCriteria: "targeted"},
		},
		AMISelectorTerms: []awsv1.AMISelectorTerm{
			{Alias: "al2023@latest"}, {ID: "ami-1"}, {Name: "my-*", Owner: "self", Tags: map[string]string{"a": "b"}}, {SSMParameter: "/team/image"},
		},
		AMIFamily:       "AL2023",
		InstanceProfile: "nodes", // beside a role, which the API does not accept
		Role:            "team/nodes",
		MetadataOptions: &awsv1.MetadataOptions{HTTPEndpoint: ptr("enabled"), HTTPProtocolIPv6: ptr("disabled"), HTTPPutResponseHopLimit: ptr[int64](2), HTTPTokens: ptr("required")},
		BlockDeviceMappings: []awsv1.BlockDeviceMapping{{
			DeviceName: ptr("/dev/xvda"), RootVolume: true,
			EBS: &awsv1.BlockDevice{
				VolumeSize: resource.MustParse("20Gi"), VolumeType: ptr("gp3"), Encrypted: ptr(true), DeleteOnTermination: ptr(false),
				IOPS: ptr[int64](3000), Throughput: ptr[int64](125), KMSKeyID: ptr("alias/k"), SnapshotID: ptr("snap-1"), VolumeInitializationRate: ptr[int32](200),
			},
		}, {DeviceName: ptr("/dev/xvdb")}},
		UserData: ptr("#!/bin/sh"), InstanceStorePolicy: ptr("RAID0"), Context: ptr("c-1"), DetailedMonitoring: ptr(true), AssociatePublicIPAddress: ptr(false),
		Kubelet: &awsv1.KubeletConfiguration{
			ClusterDNS: []string{"10.100.0.10", "10.100.0.2"}, MaxPods: awsv1.Pods(50), PodsPerCore: ptr[int32](0),
			SystemReserved: map[string]awsv1.ReservedQuantity{"cpu": "100m", "memory": "0.1Gi"}, KubeReserved: map[string]awsv1.ReservedQuantity{"pid": "1000"},
			EvictionHard: map[string]awsv1.EvictionThreshold{"memory.available": "5%"}, EvictionSoft: map[string]awsv1.EvictionThreshold{"nodefs.inodesFree": "10%"},
			EvictionSoftGracePeriod: map[string]string{"nodefs.inodesFree": "90s"}, EvictionMaxPodGracePeriod: ptr[int32](60),
			ImageGCHighThresholdPercent: ptr[int32](70), ImageGCLowThresholdPercent: ptr[int32](0), CPUCFSQuota: ptr(false),
			Further: map[string]json.RawMessage{
				"imageMaximumGCAge": json.RawMessage(`"10m"`), "featureGates": json.RawMessage(`{"NodeSwap":true}`), "podPidsLimit": json.RawMessage(`1024`),
				"tracing": json.RawMessage(`{"samplingRatePerMillion":1}`), "allowedUnsafeSysctls": json.RawMessage(`["net.core.somaxconn"]`), "memoryThrottlingFactor": json.RawMessage(`0.5`),
			},
		},
	}
}

// everyFieldIsSet fails if the API has a field that these tests do not set, besides
// those that are named.
func everyFieldIsSet(t *testing.T, spec any, besides ...string) {
	t.Helper()
	v := reflect.ValueOf(spec)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.Anonymous && v.Field(i).IsZero() && !slices.Contains(besides, field.Name) {
			t.Errorf("%T.%s is not set by the test", spec, field.Name)
		}
	}
}

func TestNodePool_ThereAndBackIsUnchanged(t *testing.T) {
	var diags diag.Diagnostics
	want := fullPool()
	everyFieldIsSet(t, want)
	everyFieldIsSet(t, want.Template.Spec.NodeSpec)
	everyFieldIsSet(t, want.Template.Spec.Requirements[0])
	everyFieldIsSet(t, want.Disruption)
	everyFieldIsSet(t, want.Disruption.Budgets[0])
	model := convert.NodePoolOf(t.Context(), want, convert.NodePool{}, &diags)
	if got := model.Spec(&diags); diags.HasError() || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", diags, cmp.Diff(want, got))
	}
}

// fill gives a value to each field that has none, and each list of objects one in which all
// fields have values, so that the test below is about fields that nobody has added to fullClass.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem())
	case reflect.Struct:
		if q, is := v.Addr().Interface().(*resource.Quantity); is && q.IsZero() {
			*q = resource.MustParse("1Gi")
		}
		if t := v.Type(); t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[intstr.IntOrString]() {
			return // one value, whatever its fields
		}
		for f, inner := range v.Fields() {
			if f.IsExported() && !f.Anonymous {
				fill(inner)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct || v.Len() == 0 {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element)
			v.Set(reflect.Append(v, element))
		}
	case reflect.Map:
		if v.Len() == 0 {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
		}
	case reflect.String:
		if v.Len() == 0 {
			v.SetString("text")
		}
	default: // false and 0 are values
	}
}

func TestNodeClass_ThereAndBackIsUnchanged(t *testing.T) {
	want := fullClass()
	filled := fullClass()
	fill(reflect.ValueOf(&filled))
	filled.Tags = nil // an argument
	for _, want := range []awsv1.EC2NodeClassSpec{want, filled} {
		var diags diag.Diagnostics
		model := convert.NodeClassOf(t.Context(), want, convert.NodeClass{}, &diags)
		if got := model.Spec(types.MapNull(types.StringType), &diags); diags.HasError() || !cmp.Equal(got, want) {
			t.Errorf("%v\n%s", diags, cmp.Diff(want, got))
		}
	}
}

// A rule of the definition would say that the volume has no size, beside the validator's words
// about the size that is written.
func TestNodeClass_AVolumeWhoseSizeCannotBeReadIsAbsent(t *testing.T) {
	var diags diag.Diagnostics
	model := convert.NodeClassOf(t.Context(), fullClass(), convert.NodeClass{}, &diags)
	mapping, is := model.BlockDeviceMappings.Elements()[0].(types.Object)
	if !is {
		t.Fatal("no mapping")
	}
	values := mapping.Attributes()
	volume, is := values["ebs"].(types.Object)
	if !is {
		t.Fatal("no volume")
	}
	inner := volume.Attributes()
	inner["volume_size"] = fwtype.Quantity().Value("much")
	values["ebs"] = types.ObjectValueMust(volume.AttributeTypes(t.Context()), inner)
	model.BlockDeviceMappings = types.ListValueMust(mapping.Type(t.Context()), []attr.Value{types.ObjectValueMust(mapping.AttributeTypes(t.Context()), values)})
	spec := model.Spec(types.MapNull(types.StringType), &diags)
	if m := spec.BlockDeviceMappings; diags.HasError() || len(m) != 1 || m[0].EBS != nil || m[0].DeviceName == nil {
		t.Errorf("%v: mappings %+v", diags, m)
	}
}

func TestNodeClassOf_RoleAndInstanceProfileTakeTurns(t *testing.T) {
	var diags diag.Diagnostics
	prior := convert.NodeClassOf(t.Context(), awsv1.EC2NodeClassSpec{InstanceProfile: "nodes"}, convert.NodeClass{}, &diags)
	if !prior.Role.IsNull() || prior.InstanceProfile.ValueString() != "nodes" {
		t.Errorf("role %s, instance_profile %s", prior.Role, prior.InstanceProfile)
	}
	got := convert.NodeClassOf(t.Context(), awsv1.EC2NodeClassSpec{Role: "nodes"}, prior, &diags)
	if diags.HasError() || !got.InstanceProfile.IsNull() || got.Role.ValueString() != "nodes" {
		t.Errorf("%v: role %s, instance_profile %s", diags, got.Role, got.InstanceProfile)
	}
}

func TestNodeClassOf_AKubeletThatSetsNothingIsAbsentAndStays(t *testing.T) {
	var diags diag.Diagnostics
	full := convert.NodeClassOf(t.Context(), fullClass(), convert.NodeClass{}, &diags)
	values := full.Kubelet.Attributes()
	for name, value := range values {
		values[name] = nullOf(t, value)
	}
	values["eviction_hard"] = types.MapValueMust(types.StringType, nil)
	values["cluster_dns"] = types.ListValueMust(types.StringType, nil)
	prior := convert.NodeClass{Kubelet: types.ObjectValueMust(full.Kubelet.AttributeTypes(t.Context()), values)}
	if spec := prior.Spec(types.MapNull(types.StringType), &diags); spec.Kubelet != nil {
		t.Errorf("kubelet %+v", spec.Kubelet)
	}
	got := convert.NodeClassOf(t.Context(), awsv1.EC2NodeClassSpec{}, prior, &diags)
	if diags.HasError() || !got.Kubelet.Equal(prior.Kubelet) {
		t.Errorf("%v: kubelet %s", diags, got.Kubelet)
	}
	drifted := convert.NodeClassOf(t.Context(), awsv1.EC2NodeClassSpec{Kubelet: &awsv1.KubeletConfiguration{CPUCFSQuota: ptr(false)}}, prior, &diags)
	if quota := drifted.Kubelet.Attributes()["cpu_cfs_quota"]; !quota.Equal(types.BoolValue(false)) {
		t.Errorf("cpu_cfs_quota %s, want what somebody set", quota)
	}
}

// TestNodeClassOf_AFractionIsTheNumberOfTheConfiguration reads a number that has no end in binary
// digits: a configuration has more of them than a float64.
func TestNodeClassOf_AFractionIsTheNumberOfTheConfiguration(t *testing.T) {
	for _, text := range []string{"0.1", "0.5", "-2.75", "1e-7", "7", "100000000000000000000"} {
		var diags diag.Diagnostics
		kubelet := &awsv1.KubeletConfiguration{Further: map[string]json.RawMessage{"memoryThrottlingFactor": json.RawMessage(text)}}
		got := convert.NodeClassOf(t.Context(), awsv1.EC2NodeClassSpec{Kubelet: kubelet}, convert.NodeClass{}, &diags)
		number, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven) // as HCL reads it
		if err != nil {
			t.Fatal(err)
		}
		want := types.DynamicValue(types.ObjectValueMust(map[string]attr.Type{"memoryThrottlingFactor": types.NumberType}, map[string]attr.Value{"memoryThrottlingFactor": types.NumberValue(number)}))
		if extra := got.Kubelet.Attributes()["extra"]; diags.HasError() || !extra.Equal(want) {
			t.Errorf("%s: %v: extra %s, want %s", text, diags, extra, want)
		}
	}
}

// nullOf is null of the value's type.
func nullOf(t *testing.T, value attr.Value) attr.Value {
	t.Helper()
	typ := value.Type(t.Context())
	null, err := typ.ValueFromTerraform(t.Context(), tftypes.NewValue(typ.TerraformType(t.Context()), nil))
	if err != nil {
		t.Fatal(err)
	}
	return null
}

func TestNodePoolOf_KeepsThePriorSpellingOfWhatIsTheSame(t *testing.T) {
	var diags diag.Diagnostics
	prior := convert.NodePoolOf(t.Context(), fullPool(), convert.NodePool{}, &diags)
	prior.TerminationGracePeriod = fwtype.Duration().Value("60m")
	prior.Limits = types.MapValueMust(fwtype.Quantity(), map[string]attr.Value{
		"cpu": fwtype.Quantity().Value("10000m"), "nodes": fwtype.Quantity().Value("3"),
	})
	prior.StartupTaints = types.ListValueMust(convert.TaintType(), nil)
	live := fullPool()
	live.Template.Spec.StartupTaints = nil
	live.Weight = ptr[int32](8)
	got := convert.NodePoolOf(t.Context(), live, prior, &diags)
	if !got.TerminationGracePeriod.Equal(prior.TerminationGracePeriod) || !got.Limits.Equal(prior.Limits) || !got.StartupTaints.Equal(prior.StartupTaints) {
		t.Errorf("respelt: %s %s %s", got.TerminationGracePeriod, got.Limits, got.StartupTaints)
	}
	if got.Weight.ValueInt32() != 8 {
		t.Errorf("the changed weight is %s", got.Weight)
	}
}

func TestSpec_UnknownIsAbsent(t *testing.T) {
	var diags diag.Diagnostics
	pool := convert.NodePool{
		NodeClass: types.StringUnknown(), Requirements: types.ListUnknown(convert.RequirementType()), Taints: types.ListUnknown(convert.TaintType()),
		Labels: types.MapUnknown(types.StringType), Limits: types.MapUnknown(fwtype.Quantity()), Weight: types.Int32Unknown(),
		Disruption: types.ObjectUnknown(convert.DisruptionType().AttrTypes),
	}
	spec := pool.Spec(&diags)
	if diags.HasError() || spec.Weight != nil || spec.Limits != nil || len(spec.Template.Spec.Requirements) != 0 || spec.Template.ObjectMeta.Labels != nil {
		t.Errorf("%v: %+v", diags, spec)
	}
}

func TestDifferences_NamesWhatChangedAndNotWhatWasAdded(t *testing.T) {
	wanted := map[string]any{"a": 1, "b": map[string]any{"c": []any{map[string]any{"d": "e"}}}, "gone": true}
	owned := map[string]any{"a": int64(1), "b": map[string]any{"c": []any{map[string]any{"d": "x", "defaulted": 1}}, "more": 1}}
	if got, want := convert.Differences(wanted, owned), []string{"b.c[0].d", "gone"}; !cmp.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
	if got := convert.Differences(map[string]any{"l": []any{1}}, map[string]any{"l": []any{1, 2}}); !cmp.Equal(got, []string{"l"}) {
		t.Errorf("differences %q, want l", got)
	}
}

func TestNodePool_AnImportedExpiryIsWrittenAsPeopleDo(t *testing.T) {
	for want, after := range map[string]v1.NillableDuration{
		"720h": {Duration: 720 * time.Hour}, "1h30m": {Duration: 90 * time.Minute}, "10m": {Duration: 10 * time.Minute},
		"1h0m5s": {Duration: time.Hour + 5*time.Second}, "30s": {Duration: 30 * time.Second}, "0s": {}, "Never": {Never: true},
	} {
		var diags diag.Diagnostics
		spec := v1.NodePoolSpec{Template: v1.NodeTemplate{Spec: v1.NodeTemplateSpec{NodeSpec: v1.NodeSpec{ExpireAfter: &after}}}}
		if got := convert.NodePoolOf(t.Context(), spec, convert.NodePool{}, &diags).ExpireAfter.ValueString(); got != want {
			t.Errorf("%v is written %q, want %q", after, got, want)
		}
	}
}
