package translate_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// schemas are those of the definitions, by kind.
func schemas(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	out := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, document := range slices.Concat(v1.CRDs(), awsv1.CRDs()) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(document, &crd); err != nil {
			t.Fatal(err)
		}
		out[crd.Spec.Names.Kind] = *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return out
}

// leaves are the paths of the schema that have no properties, with their schemas.
func leaves(path string, s apiextensionsv1.JSONSchemaProps, out map[string]apiextensionsv1.JSONSchemaProps) {
	for name, inner := range s.Properties {
		leaves(strings.TrimPrefix(path+"."+name, "."), inner, out)
	}
	switch {
	case s.Items != nil:
		leaves(path+"[]", *s.Items.Schema, out)
	case len(s.Properties) == 0:
		out[path] = s
	}
}

func TestSupport_EveryPathOfTheSchemasSaysWhatBecomesOfIt(t *testing.T) {
	paths := 0
	for kind, schema := range schemas(t) {
		found := map[string]apiextensionsv1.JSONSchemaProps{}
		leaves("", schema, found)
		fields := translate.FieldsOf(kind)
		used := map[string]bool{}
		for _, path := range slices.Sorted(maps.Keys(found)) {
			if slices.Contains([]string{"apiVersion", "kind", "metadata"}, path) {
				continue
			}
			paths++
			var rows []string
			for _, f := range fields {
				if path == f.Path || strings.HasPrefix(path, f.Path+".") || strings.HasPrefix(path, f.Path+"[]") {
					rows = append(rows, f.Path)
					used[f.Path] = true
				}
			}
			if len(rows) != 1 {
				t.Errorf("%s %s is in the rows %q of FieldsOf, want one", kind, path, rows)
			}
		}
		for _, f := range fields {
			if !used[f.Path] {
				t.Errorf("%s %s: the schema has no such path", kind, f.Path)
			}
			if named := f.Effect != "" && f.Remedy != ""; named != (f.Support != translate.CarriedOut) {
				t.Errorf("%s %s: effect %q and remedy %q", kind, f.Path, f.Effect, f.Remedy)
			}
		}
	}
	if paths < 130 {
		t.Errorf("%d paths: the test looks at the wrong place", paths)
	}
}

// sample is a value of the field that is not carried out.
func sample(path string, s apiextensionsv1.JSONSchemaProps) any {
	switch chosen := map[string]any{
		"spec.instanceProfile": "arn:aws:iam::123456789012:instance-profile/x", "spec.role": "nodes/", "spec.amiFamily": "Windows2022",
		"spec.amiSelectorTerms[].alias": "windows2022@latest",
	}[path]; {
	case chosen != nil:
		return chosen
	case s.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case s.Type == "string":
		return "x"
	case s.Type == "integer":
		return 1
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{sample("", *s.Items.Schema)}
	}
	out := map[string]any{}
	for name, inner := range s.Properties {
		out[name] = sample("", inner)
	}
	if s.AdditionalProperties != nil {
		out["x"] = sample("", *s.AdditionalProperties.Schema)
	}
	return out
}

// objectWith is an object of nothing but the value at the path.
func objectWith(path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	name, list := strings.CutSuffix(path[0], "[]")
	inner := objectWith(path[1:], value)
	if list {
		inner = []any{inner}
	}
	return map[string]any{name: inner}
}

func at(s apiextensionsv1.JSONSchemaProps, path []string) apiextensionsv1.JSONSchemaProps {
	for _, name := range path {
		name, list := strings.CutSuffix(name, "[]")
		if s = s.Properties[name]; list {
			s = *s.Items.Schema
		}
	}
	return s
}

func decoded[T any](t *testing.T, object any) *T {
	t.Helper()
	data, err := json.Marshal(object)
	out := new(T)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSupport_AFieldThatIsNotCarriedOutIsNamedWithEffectAndRemedy(t *testing.T) {
	for kind, schema := range schemas(t) {
		for _, f := range translate.FieldsOf(kind) {
			if f.Support == translate.CarriedOut || kind == v1.NodeClaimKind {
				continue
			}
			path := strings.Split(f.Path, ".")
			object := objectWith(path, sample(f.Path, at(schema, path)))
			var unsupported, refused []translate.Fault
			if kind == v1.NodePoolKind {
				unsupported = translate.UnsupportedOf(decoded[v1.NodePool](t, object))
			} else {
				class := decoded[awsv1.EC2NodeClass](t, object)
				unsupported, refused = translate.UnsupportedOfClass(class), translate.RefusedOfClass(class)
			}
			got, other := unsupported, refused
			if f.Support == translate.Refused {
				got, other = refused, unsupported
			}
			want := strings.ReplaceAll(f.Path, "[]", "[0]") + ": " + f.Effect + ": " + f.Remedy
			if translate.Sentences(got) != want || len(other) > 0 {
				t.Errorf("%s with %v: %q and %q, want only %q", kind, object, got, other, want)
			}
		}
	}
}

func TestSupport_WhatIsCarriedOutIsNotNamed(t *testing.T) {
	class := decoded[awsv1.EC2NodeClass](t, map[string]any{"spec": map[string]any{
		"instanceProfile": "node", "amiFamily": "AL2023", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@v20260101"}},
		"subnetSelectorTerms": []any{map[string]any{"id": "subnet-1"}, map[string]any{"tags": map[string]any{"a": "b"}}},
		"kubelet":             map[string]any{"maxPods": 110, "podsPerCore": 0}, "networkInterfaces": []any{},
		"blockDeviceMappings": []any{map[string]any{"rootVolume": true, "ebs": map[string]any{"volumeSize": "20Gi"}}},
	}})
	if got := slices.Concat(translate.UnsupportedOfClass(class), translate.RefusedOfClass(class)); len(got) > 0 {
		t.Errorf("class: %q", got)
	}
	pool := decoded[v1.NodePool](t, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"taints": []any{map[string]any{"key": "a", "effect": "NoSchedule"}},
	}}}})
	if got := translate.UnsupportedOf(pool); len(got) > 0 {
		t.Errorf("pool: %q", got)
	}
}

func TestSupport_ValuesOfExistsAreNamed(t *testing.T) {
	var pool v1.NodePool
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: "a", Operator: "In", Values: []string{"x"}}, {Key: "b", Operator: "Exists", Values: []string{"x"}}, {Key: "c", Operator: "DoesNotExist"}}
	want := "spec.template.spec.requirements[1].values: operators Exists and DoesNotExist take no values: remove them, or write the operator In or NotIn"
	if got := translate.Sentences(translate.UnsupportedOf(&pool)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSupport_BudgetsForNodeRepairAreNamed(t *testing.T) {
	var pool v1.NodePool
	pool.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "1", Reasons: []v1.DisruptionReason{"Empty"}}, {Nodes: "1", Reasons: []v1.DisruptionReason{"Empty", "Unhealthy"}}}
	want := "spec.disruption.budgets[1].reasons: no node is disrupted because it is unhealthy: remove the reason Unhealthy"
	if got := translate.Sentences(translate.UnsupportedOf(&pool)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Karpenter's rules let such a term through beside a right one, and it then selects by the
// id or the name alone.
func TestSupport_WhatATermHasBesideItsIDIsNamed(t *testing.T) {
	tags := map[string]string{"a": "b"}
	class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:              []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}, {ID: "subnet-2", Tags: tags}},
		SecurityGroupSelectorTerms:       []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1", Name: "x"}, {Name: "x", Tags: tags}, {Tags: tags}},
		AMISelectorTerms:                 []awsv1.AMISelectorTerm{{SSMParameter: "/image", ID: "ami-1", Name: "x", Owner: "self", Tags: tags}, {Name: "x", Owner: "self", Tags: tags}},
		CapacityReservationSelectorTerms: []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1", OwnerID: "1", InstanceMatchCriteria: "open"}},
	}}
	want := []string{
		"spec.subnetSelectorTerms[1].tags: the term selects by its id alone",
		"spec.securityGroupSelectorTerms[0].name: the term selects by its id alone",
		"spec.securityGroupSelectorTerms[1].tags: the term selects by its name alone",
		"spec.amiSelectorTerms[0].id: the term selects by its ssmParameter alone",
		"spec.amiSelectorTerms[0].name: the term selects by its ssmParameter alone",
		"spec.amiSelectorTerms[0].owner: the term selects by its ssmParameter alone",
		"spec.amiSelectorTerms[0].tags: the term selects by its ssmParameter alone",
		"spec.capacityReservationSelectorTerms[0].ownerID: the term selects by its id alone",
		"spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: the term selects by its id alone",
	}
	got := translate.UnsupportedOfClass(class)
	if !slices.EqualFunc(got, want, func(f translate.Fault, want string) bool { return f.Path+": "+f.Effect == want }) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// The guide is what users read before they write a field.
func TestSupport_TheGuideNamesEveryFieldThatIsNotCarriedOut(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/karpenter_api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1.NodePoolKind, awsv1.EC2NodeClassKind} {
		for _, f := range translate.FieldsOf(kind) {
			named := strings.Contains(string(guide), "`"+f.Path+"`")
			if named != (f.Support != translate.CarriedOut) {
				t.Errorf("%s %s: named %v", kind, f.Path, named)
			}
			if f.Support == translate.Unsupported && !strings.Contains(string(guide), f.Effect) {
				t.Errorf("%s %s: the guide does not say %q", kind, f.Path, f.Effect)
			}
		}
	}
}

func TestSupport_FurtherDNSServersAreNamedWhereTheFamilyTakesOne(t *testing.T) {
	for family, want := range map[string]string{"AL2023": "", "Bottlerocket": "", "AL2": "spec.kubelet.clusterDNS: AL2 takes one address, the first: remove the others"} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: family, Kubelet: &awsv1.KubeletConfiguration{ClusterDNS: []string{"10.0.0.1", "10.0.0.2"}}}}
		if got := translate.Sentences(translate.UnsupportedOfClass(class)); got != want {
			t.Errorf("%s: %q, want %q", family, got, want)
		}
	}
}

func TestSupport_PodsPerCoreIsNamedWhereTheFamilyHasNoSuchSetting(t *testing.T) {
	eight := int32(8)
	for family, want := range map[string]string{"AL2023": "", "AL2": "", "Custom": "", "Bottlerocket": "spec.kubelet.podsPerCore: Bottlerocket has no such setting: set maxPods"} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: family, Kubelet: &awsv1.KubeletConfiguration{PodsPerCore: &eight}}}
		if got := translate.Sentences(translate.UnsupportedOfClass(class)); got != want {
			t.Errorf("%s: %q, want %q", family, got, want)
		}
	}
}
