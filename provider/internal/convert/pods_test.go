package convert

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// objectValue makes an object of the type from the values; what is left out is null.
func objectValue(t *testing.T, of types.ObjectType, values map[string]attr.Value) types.Object {
	t.Helper()
	all := map[string]attr.Value{}
	for name, typ := range of.AttrTypes {
		if value, given := values[name]; given {
			all[name] = value
			continue
		}
		null, err := typ.ValueFromTerraform(t.Context(), tftypes.NewValue(typ.TerraformType(t.Context()), nil))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = null
	}
	out, diags := types.ObjectValue(of.AttrTypes, all)
	if diags.HasError() {
		t.Fatal(diags)
	}
	return out
}

func objectList(of types.ObjectType, values ...attr.Value) types.List {
	return types.ListValueMust(of, values)
}

// byDefault are the attributes of a daemon of which nothing is said.
func byDefault() Pods {
	return Pods{
		Resources: types.ObjectNull(resourcesType().AttrTypes), Tolerations: types.ListNull(tolerationType()), NodeSelector: types.MapNull(types.StringType),
		Affinity: types.ObjectNull(affinityType().AttrTypes), PriorityClassName: types.StringValue(install.DefaultPriorityClass), ImagePullSecrets: types.SetNull(types.StringType),
		Environment: types.MapNull(types.StringType), PodLabels: types.MapNull(types.StringType), PodAnnotations: types.MapNull(types.StringType),
		MetricsPort: types.Int32Value(install.MetricsPort), HealthProbePort: types.Int32Value(install.HealthProbePort),
		MetricsNamespaces: types.SetNull(types.StringType), PodDisruptionBudget: types.ObjectNull(podDisruptionBudgetType().AttrTypes),
	}
}

// everything has a value for each attribute.
func everything(t *testing.T) Pods {
	t.Helper()
	text := types.StringValue
	set := func(values ...string) types.Set { return stringSet(values) }
	one := objectList(expressionType(), objectValue(t, expressionType(), map[string]attr.Value{"key": text("a"), "operator": text("In"), "values": set("x", "y")}))
	pods := func(weight attr.Value) attr.Value {
		values := map[string]attr.Value{
			"topology_key": text("zone"), "match_labels": StringMap(map[string]string{"app": "dns"}), "match_expressions": one, "namespaces": set("kube-system"),
		}
		if weight == nil {
			return objectValue(t, podTermType(false), values)
		}
		values["weight"] = weight
		return objectValue(t, podTermType(true), values)
	}
	podTerms := objectValue(t, termsType(podTermType), map[string]attr.Value{
		"required": objectList(podTermType(false), pods(nil)), "preferred": objectList(podTermType(true), pods(types.Int32Value(3))),
	})
	return Pods{
		Resources: objectValue(t, resourcesType(), map[string]attr.Value{
			"requests": objectValue(t, amountsType(), map[string]attr.Value{"cpu": fwtype.Quantity().Value("250m"), "memory": fwtype.Quantity().Value("1Gi")}),
			"limits":   objectValue(t, amountsType(), map[string]attr.Value{"memory": fwtype.Quantity().Value("2Gi")}),
		}),
		Tolerations: objectList(tolerationType(), objectValue(t, tolerationType(), map[string]attr.Value{
			"key": text("a"), "operator": text("Equal"), "value": text("b"), "effect": text("NoExecute"), "toleration_seconds": types.Int64Value(5),
		})),
		NodeSelector: StringMap(map[string]string{"pool": "system"}),
		Affinity: objectValue(t, affinityType(), map[string]attr.Value{
			"node_affinity": objectValue(t, termsType(nodeTermType), map[string]attr.Value{
				"required":  objectList(nodeTermType(false), objectValue(t, nodeTermType(false), map[string]attr.Value{"match_expressions": one})),
				"preferred": objectList(nodeTermType(true), objectValue(t, nodeTermType(true), map[string]attr.Value{"weight": types.Int32Value(7), "match_expressions": one})),
			}),
			"pod_affinity": podTerms, "pod_anti_affinity": podTerms,
		}),
		PriorityClassName: text("high"), ImagePullSecrets: set("a", "b"), Environment: StringMap(map[string]string{"GOGC": "80"}),
		PodLabels: StringMap(map[string]string{"mesh": "off"}), PodAnnotations: StringMap(map[string]string{"note": "hello"}),
		MetricsPort: types.Int32Value(9090), HealthProbePort: types.Int32Value(9091), MetricsNamespaces: set("kube-system", "monitoring"),
		PodDisruptionBudget: objectValue(t, podDisruptionBudgetType(), map[string]attr.Value{"enabled": types.BoolValue(true), "min_available": text("1")}),
	}
}

// installed makes the objects of the attributes and reads them back.
func installed(t *testing.T, p Pods) Pods {
	t.Helper()
	var diags diag.Diagnostics
	objects, err := install.Objects(install.Options{
		Image: "registry.example.com/a/b:1", RoleARN: "arn:aws:iam::123456789012:role/r", ClusterName: "c", Region: "us-west-2",
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"owner": "a"}, Pods: p.Install(t.Context(), &diags),
	})
	if err != nil || diags.HasError() {
		t.Fatal(err, diags)
	}
	var deployment appsv1.Deployment
	var budget *policyv1.PodDisruptionBudget
	var network *networkingv1.NetworkPolicy
	into := func(object *unstructured.Unstructured, to any) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			into(object, &deployment)
		case "PodDisruptionBudget":
			budget = &policyv1.PodDisruptionBudget{}
			into(object, budget)
		case "NetworkPolicy":
			network = &networkingv1.NetworkPolicy{}
			into(object, network)
		}
	}
	out := PodsOf(t.Context(), &deployment, budget, network, &diags)
	if diags.HasError() {
		t.Fatal(diags)
	}
	return out
}

// An import must find what was configured, or the next apply changes it.
func TestPods_AreReadBackFromWhatTheyMake(t *testing.T) {
	off := byDefault()
	off.Tolerations = types.ListValueMust(tolerationType(), nil)
	off.PriorityClassName = types.StringValue("")
	off.MetricsNamespaces = types.SetValueMust(types.StringType, nil)
	off.PodDisruptionBudget = objectValue(t, podDisruptionBudgetType(), map[string]attr.Value{"enabled": types.BoolValue(false)})
	off.Resources = objectValue(t, resourcesType(), map[string]attr.Value{
		"requests": objectValue(t, amountsType(), nil), "limits": objectValue(t, amountsType(), nil),
	})
	for name, want := range map[string]Pods{"by default": byDefault(), "everything": everything(t), "all off": off} {
		t.Run(name, func(t *testing.T) {
			got := installed(t, want)
			values, field := reflect.ValueOf(got), reflect.TypeFor[Pods]()
			for i := range field.NumField() {
				is, should := values.Field(i).Interface().(attr.Value), reflect.ValueOf(want).Field(i).Interface().(attr.Value)
				if !is.Equal(should) {
					t.Errorf("%s is read back as %s, want %s", field.Field(i).Name, is, should)
				}
			}
		})
	}
}

func TestPods_EverythingHasAValue(t *testing.T) {
	for _, value := range everything(t).Values() {
		if value.IsNull() {
			t.Errorf("an attribute is not in the test of reading back: %v", value)
		}
	}
	if n := reflect.TypeFor[Pods]().NumField(); len(byDefault().Values()) != n {
		t.Errorf("Values has %d of %d attributes", len(byDefault().Values()), n)
	}
}

func TestPods_RequestsOrLimitsReplaceTheDefaultAsAWhole(t *testing.T) {
	p := byDefault()
	p.Resources = objectValue(t, resourcesType(), map[string]attr.Value{
		"requests": objectValue(t, amountsType(), map[string]attr.Value{"cpu": fwtype.Quantity().Value("1")}),
	})
	var diags diag.Diagnostics
	r := p.Install(t.Context(), &diags).Resources
	if len(r.Requests) != 1 || r.Requests.Cpu().String() != "1" || r.Limits.Memory().String() != "1Gi" {
		t.Errorf("resources %+v", r)
	}
	p.Resources = objectValue(t, resourcesType(), map[string]attr.Value{
		"limits": objectValue(t, amountsType(), map[string]attr.Value{"cpu": fwtype.Quantity().Value("much")}),
	})
	if p.Install(t.Context(), &diags); !diags.HasError() || !strings.Contains(diags[0].Detail(), "cpu") {
		t.Errorf("a value that is no quantity gives %v", diags)
	}
}

func TestImage_IsReadBackAsWhatDiffersFromTheUsual(t *testing.T) {
	usual := install.Image{Registry: "ghcr.io", Repository: "a/b", Digest: "sha256:1"}
	for name, given := range map[string]map[string]attr.Value{
		"nothing":    nil,
		"a mirror":   {"registry": types.StringValue("mirror")},
		"a path":     {"registry": types.StringValue("mirror"), "repository": types.StringValue("c/d")},
		"a tag":      {"tag": types.StringValue("1")},
		"tag, too":   {"tag": types.StringValue("1"), "digest": types.StringValue("sha256:1")},
		"a digest":   {"digest": types.StringValue("sha256:2"), "pull_policy": types.StringValue("Always")},
		"and policy": {"pull_policy": types.StringValue("Never")},
	} {
		want := types.ObjectNull(ImageType().AttrTypes)
		if given != nil {
			want = objectValue(t, ImageType(), given)
		}
		var diags diag.Diagnostics
		policy := PullPolicy(t.Context(), want, &diags)
		if policy == "" {
			policy = install.DefaultPullPolicy
		}
		got := ImageOf(t.Context(), Image(t.Context(), want, usual, &diags), policy, usual, &diags)
		if diags.HasError() || !got.Equal(want) {
			t.Errorf("%s: read back as %s, want %s (%v)", name, got, want, diags)
		}
	}
}
