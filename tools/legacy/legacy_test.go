package legacy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	coreold "github.com/aws/karpenter-core/pkg/apis/v1alpha5"
	awsold "github.com/aws/karpenter/pkg/apis/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// Releases 0.31 and 0.32 have the same types of the APIs before v1. The module proxy has the
// AWS part of 0.32 only.

// fieldsOf lists the fields of a type by their path on the wire.
func fieldsOf(t reflect.Type) []string {
	out := map[string]bool{}
	var walk func(t reflect.Type, path string, depth int)
	walk = func(t reflect.Type, path string, depth int) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		whole := t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[metav1.Duration]() || t == reflect.TypeFor[runtime.RawExtension]() || t == reflect.TypeFor[metav1.Time]()
		if t.Kind() != reflect.Struct || whole || depth > 8 {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" { // inline
				walk(f.Type, path, depth+1)
				continue
			}
			at := strings.TrimPrefix(path+"."+name, ".")
			out[at] = true
			walk(f.Type, at, depth+1)
		}
	}
	walk(t, "", 0)
	return slices.Sorted(maps.Keys(out))
}

func TestLegacy_FieldsAreThoseOfTheirTypes(t *testing.T) {
	for kind, pair := range map[string][2]reflect.Type{
		wire.KindProvisioner:     {reflect.TypeFor[wire.ProvisionerSpec](), reflect.TypeFor[coreold.ProvisionerSpec]()},
		wire.KindAWSNodeTemplate: {reflect.TypeFor[wire.AWSNodeTemplateSpec](), reflect.TypeFor[awsold.AWSNodeTemplateSpec]()},
		"the inline provider":    {reflect.TypeFor[wire.AWS](), reflect.TypeFor[awsold.AWS]()},
	} {
		ours, theirs := fieldsOf(pair[0]), fieldsOf(pair[1])
		for _, f := range theirs {
			if !slices.Contains(ours, f) && !strings.HasPrefix(f, "provider.") {
				t.Errorf("%s: %s is unknown here", kind, f)
			}
		}
		for _, f := range ours {
			// v1beta1 has these in the same types; see package api/legacy.
			later := strings.HasSuffix(f, ".minValues") || strings.HasSuffix(f, ".rootVolume")
			if !slices.Contains(theirs, f) && !later && !strings.HasPrefix(f, "provider.") {
				t.Errorf("%s: %s is unknown there", kind, f)
			}
		}
		if len(theirs) < 20 {
			t.Errorf("%s: %d fields: the test looks at the wrong place", kind, len(theirs))
		}
	}
}

func ptr[T any](x T) *T { return &x }

// fullTemplate has every field that can be set together.
func fullTemplate() *awsold.AWSNodeTemplate {
	return &awsold.AWSNodeTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: wire.VersionAWSNodeTemplate, Kind: wire.KindAWSNodeTemplate},
		ObjectMeta: metav1.ObjectMeta{Name: "full"},
		Spec: awsold.AWSNodeTemplateSpec{
			UserData: ptr("#!/bin/bash\necho hello\n"), AMISelector: map[string]string{"aws::name": "mine-*", "aws::owners": "self"}, DetailedMonitoring: ptr(true),
			AWS: awsold.AWS{
				AMIFamily: ptr("AL2"), Context: ptr("context"), InstanceProfile: ptr("profile"), Tags: map[string]string{"team": "x"},
				SubnetSelector: map[string]string{"karpenter.sh/discovery": "lab"}, SecurityGroupSelector: map[string]string{"aws-ids": "sg-1,sg-2"},
				LaunchTemplate: awsold.LaunchTemplate{
					MetadataOptions: &awsold.MetadataOptions{HTTPEndpoint: ptr("enabled"), HTTPProtocolIPv6: ptr("disabled"), HTTPPutResponseHopLimit: ptr(int64(2)), HTTPTokens: ptr("required")},
					BlockDeviceMappings: []*awsold.BlockDeviceMapping{{DeviceName: ptr("/dev/xvda"), EBS: &awsold.BlockDevice{
						DeleteOnTermination: ptr(true), Encrypted: ptr(true), IOPS: ptr(int64(3000)), KMSKeyID: ptr("key"), SnapshotID: ptr("snap-1"),
						Throughput: ptr(int64(125)), VolumeSize: ptr(resource.MustParse("100Gi")), VolumeType: ptr("gp3"),
					}}},
				},
			},
		},
	}
}

// fullProvisioner likewise.
func fullProvisioner() *coreold.Provisioner {
	p := &coreold.Provisioner{
		TypeMeta:   metav1.TypeMeta{APIVersion: wire.VersionProvisioner, Kind: wire.KindProvisioner},
		ObjectMeta: metav1.ObjectMeta{Name: "full"},
	}
	p.Spec = coreold.ProvisionerSpec{
		Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"team": "x"},
		Taints: []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}}, StartupTaints: []corev1.Taint{{Key: "c", Effect: corev1.TaintEffectNoExecute}},
		Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"us-west-2a"}}},
		KubeletConfiguration: &coreold.KubeletConfiguration{
			ClusterDNS: []string{"10.0.0.10"}, ContainerRuntime: ptr("containerd"), MaxPods: ptr(int32(20)), PodsPerCore: ptr(int32(2)),
			SystemReserved: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}, KubeReserved: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			EvictionHard: map[string]string{"memory.available": "5%"}, EvictionSoft: map[string]string{"memory.available": "10%"},
			EvictionSoftGracePeriod: map[string]metav1.Duration{"memory.available": {Duration: 60e9}}, EvictionMaxPodGracePeriod: ptr(int32(30)),
			ImageGCHighThresholdPercent: ptr(int32(80)), ImageGCLowThresholdPercent: ptr(int32(70)), CPUCFSQuota: ptr(true),
		},
		ProviderRef:            &coreold.MachineTemplateRef{Name: "full"},
		TTLSecondsUntilExpired: ptr(int64(2592000)), Weight: ptr(int32(10)), Limits: &coreold.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k")}},
		Consolidation: &coreold.Consolidation{Enabled: ptr(true)},
	}
	return p
}

func serialised(t *testing.T, o any) string {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLegacy_WhatTheirTypesSerialiseIsServed(t *testing.T) {
	inline := fullProvisioner()
	provider := fullTemplate().Spec.AWS
	inline.Spec.ProviderRef, inline.Spec.Provider = nil, &runtime.RawExtension{Raw: []byte(serialised(t, provider))}
	provider.AMIFamily = ptr("Bottlerocket")
	inline.Spec.Provider.Raw = []byte(serialised(t, provider))
	emptiness := fullProvisioner()
	emptiness.Spec.Consolidation, emptiness.Spec.TTLSecondsAfterEmpty = nil, ptr(int64(30))
	for name, live := range map[string]legacy.Live{
		"with a template": {Provisioner: serialised(t, fullProvisioner()), Template: serialised(t, fullTemplate())},
		"inline provider": {Provisioner: serialised(t, inline)},
		"emptiness":       {Provisioner: serialised(t, emptiness), Template: serialised(t, fullTemplate())},
	} {
		t.Run(name, func(t *testing.T) {
			out := legacy.Serve(live, 36)
			if len(out.Errors) > 0 || out.Pool == nil || out.Class == nil || len(out.MigrateErrors) > 0 {
				t.Fatalf("errors %v, %v", out.Errors, out.MigrateErrors)
			}
			if errs := out.Pool.Validate(); len(errs) > 0 {
				t.Error(errs)
			}
			if k := out.Class.Spec.Kubelet; k == nil || k.MaxPods.IntVal != 20 || k.EvictionSoftGracePeriod["memory.available"] != "1m0s" || !*k.CPUCFSQuota {
				t.Errorf("kubelet %+v", k)
			}
			if got := out.Pool.Spec.Template.Spec.ExpireAfter.Duration.Hours(); got != 720 {
				t.Errorf("expires after %v h", got)
			}
		})
	}
}

// A client that was made for their definitions finds the same resources.
func TestLegacy_DefinitionsNameTheSameResources(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/karpenter").Output()
	if err != nil {
		t.Fatal(err)
	}
	type names struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group, Scope string
			Names        struct{ Kind, ListKind, Plural, Singular string }
			Versions     []struct {
				Name            string
				Served, Storage bool
				Subresources    map[string]any
			}
		}
	}
	read := func(data []byte) (out names) {
		t.Helper()
		if err := yaml.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for i, file := range []string{"karpenter.sh_provisioners.yaml", "karpenter.k8s.aws_awsnodetemplates.yaml"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg", "apis", "crds", file))
		if err != nil {
			t.Fatal(err)
		}
		if ours, theirs := read(wire.CRDs()[i]), read(data); !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: ours\n%+v, theirs\n%+v", file, ours, theirs)
		}
	}
}
