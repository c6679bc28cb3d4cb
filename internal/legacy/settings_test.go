package legacy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// TestConvert_ChartValuesGiveWhatTheConfigMapGives holds each place of settings to the ConfigMap
// that Karpenter's chart filled from them.
func TestConvert_ChartValuesGiveWhatTheConfigMapGives(t *testing.T) {
	const objects = `
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec: {providerRef: {name: default}, ttlSecondsAfterEmpty: 30}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec: {amiFamily: Bottlerocket, subnetSelector: {a: b}, securityGroupSelector: {a: b}, tags: {team: own}}
`
	const values = `settings: {aws: {clusterName: prod, defaultInstanceProfile: shared, tags: {team: x, cost: "42"}}, featureGates: {driftEnabled: true}}`
	converted := func(settings string) (manifests, config string) {
		t.Helper()
		result := legacy.Convert([]legacy.Source{{Text: settings + objects}}, legacy.Options{})
		if len(result.Errors) > 0 {
			t.Fatal(settings, result.Errors)
		}
		all, err := result.Manifests()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Kind != "ConfigMap" {
				manifests += m.YAML
			}
		}
		config, _ = result.HCL("")
		return manifests, config
	}
	manifests, config := converted(`apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-global-settings}
data: {aws.clusterName: prod, aws.defaultInstanceProfile: shared, aws.tags: '{"cost": "42", "team": "x"}', featureGates.driftEnabled: "true"}`)
	for _, want := range []string{"instanceProfile: shared", `cost: "42"`, "team: own"} {
		if !strings.Contains(manifests, want) {
			t.Errorf("the manifests lack %q:\n%s", want, manifests)
		}
	}
	if strings.Contains(manifests, "Drifted") {
		t.Errorf("drift is off:\n%s", manifests)
	}
	for name, settings := range map[string]string{
		"values":                   values,
		"values of a parent chart": "karpenter: {" + values + "}",
		"Flux":                     "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec: {values: {" + values + "}}",
		"Argo CD, text":            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {chart: karpenter, helm: {values: '" + values + "'}}}",
		"Argo CD, object":          "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {chart: karpenter, helm: {valuesObject: {" + values + "}, values: 'settings: {clusterName: not-this}'}}}",
		"Argo CD, parameters": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec: {source: {chart: karpenter, helm: {parameters: [
  {name: settings.aws.clusterName, value: prod}, {name: settings.aws.defaultInstanceProfile, value: shared}, {name: settings.aws.tags.team, value: x},
  {name: settings.aws.tags.cost, value: "42"}, {name: settings.featureGates.driftEnabled, value: "true"}]}}}`,
	} {
		gotManifests, gotConfig := converted(settings)
		if diff := cmp.Diff(manifests+config, gotManifests+gotConfig); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestConvert_ProfileAndTagsAloneAreSettingsOfKarpenter has the name of the cluster elsewhere, such
// as in a flag of Helm.
func TestConvert_ProfileAndTagsAloneAreSettingsOfKarpenter(t *testing.T) {
	text := "settings: {aws: {defaultInstanceProfile: shared}}\n---\napiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: default}\nspec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}}\n"
	result := legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{})
	if got, err := result.YAML(); err != nil || !strings.Contains(got, "instanceProfile: shared") {
		t.Errorf("%v, %v:\n%s", result.Errors, err, got)
	}
}

// TestConvert_EveryValueOfTheListIsLookedUp gives each value that a setting of the list has in the
// chart. It counts, or a warning says why not.
func TestConvert_EveryValueOfTheListIsLookedUp(t *testing.T) {
	seen := 0
	for _, s := range legacy.Settings() {
		// The time of a role says nothing without the role, and a gate that is always on needs no word.
		if s.Value == "" || s.Variable == "ASSUME_ROLE_DURATION" || s.Gate != "" && s.Here != "" {
			continue
		}
		seen++
		values := map[string]any{}
		put := func(path []string, value any) {
			in := values
			for _, key := range path[:len(path)-1] {
				inner, ok := in[key].(map[string]any)
				if !ok {
					inner = map[string]any{}
					in[key] = inner
				}
				in = inner
			}
			in[path[len(path)-1]] = value
		}
		put([]string{"karpenter", "settings", "clusterName"}, "prod")
		put(append([]string{"karpenter"}, strings.Split(s.Value, ".")...), "other")
		text, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		result := legacy.Convert([]legacy.Source{{Text: string(text)}}, legacy.Options{})
		warned := slices.ContainsFunc(result.Warnings, func(p legacy.Problem) bool { return p.Lost && p.Field == "karpenter."+s.Value })
		switch {
		case s.Here != "" && result.Environment[s.Variable] != "other":
			t.Errorf("%s is not taken: %v", s.Value, result.Environment)
		case s.Here == "" && !warned:
			t.Errorf("%s is lost without a word: %v", s.Value, result.Warnings)
		}
	}
	if seen < 25 {
		t.Errorf("only %d values", seen)
	}
}

func TestConvert_AFileWhoseSettingsAreReadIsNotSkipped(t *testing.T) {
	result := legacy.Convert([]legacy.Source{
		{Name: "values.yaml", Text: "settings: {clusterName: prod}\n"},
		{Name: "both.yaml", Text: "settings: {clusterName: prod}\n---\nreplicas: 1\n"},
		{Name: "other.yaml", Text: "settings: {debug: true}\nlogLevel: debug\n"},
	}, legacy.Options{})
	want := []string{"both.yaml: document 2 is not of Karpenter", "other.yaml has no object of Karpenter"}
	if diff := cmp.Diff(want, result.Others); diff != "" {
		t.Error(diff)
	}
}

func TestConvert_EachFileIsToldItsOwnSettingsAndWhatDiffers(t *testing.T) {
	result := legacy.Convert([]legacy.Source{
		{Name: "a.yaml", Text: "settings: {clusterName: prod, interruptionQueue: q}\n"},
		{Name: "b.yaml", Text: "settings: {clusterName: stage}\n"},
	}, legacy.Options{})
	const has = ": document 1: the daemon has these settings as attributes of karpenter_daemon, and as values of its chart; write "
	want := []string{
		"a.yaml" + has + `cluster_name = "prod", queue_name = "q"`,
		`b.yaml: document 1: settings.clusterName: "stage" counts, and not "prod" of document 1 of a.yaml, settings.clusterName; convert the objects of each cluster by themselves, or remove one of the two`,
		"b.yaml" + has + `cluster_name = "stage"`,
	}
	var got []string
	for _, p := range result.Warnings {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if result.Environment["CLUSTER_NAME"] != "stage" {
		t.Errorf("environment %v", result.Environment)
	}
}

// TestConvert_SettingsOfTheNewestChartAreRead has the values of Karpenter 1.15: those by default say
// nothing, and the others what becomes of them.
func TestConvert_SettingsOfTheNewestChartAreRead(t *testing.T) {
	lost := func(text string) (fields []string) {
		t.Helper()
		for _, p := range legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{}).Warnings {
			if p.Lost {
				fields = append(fields, p.Field)
			}
		}
		return fields
	}
	const gates = "settings: {clusterName: c, enableDRA: %s, ignoreDRARequests: null, legacyNodeRepair: %s, securityGroupRefreshInterval: 1m, " +
		"awsFeatureGates: {nodeClassCEL: %s, draNVIDIAGPU: null, draEFA: null, rebootForRepair: %s}, featureGates: {terminateFirstDrift: %s, podDeletionCostManagement: %s}}\n"
	if got := lost(strings.ReplaceAll(gates, "%s", "false")); len(got) > 0 {
		t.Errorf("by default: %q", got)
	}
	want := []string{"settings.awsFeatureGates.rebootForRepair", "settings.enableDRA", "settings.featureGates.podDeletionCostManagement", "settings.featureGates.terminateFirstDrift", "settings.legacyNodeRepair"}
	if diff := cmp.Diff(want, lost(strings.ReplaceAll(gates, "%s", "true"))); diff != "" {
		t.Error(diff)
	}
	deployment := func(env string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: karpenter, labels: {app.kubernetes.io/name: karpenter}}\nspec: {template: {spec: {containers: [{name: controller, env: [" + env + "], envFrom: [{secretRef: {name: more}}]}]}}}\n"
	}
	want = []string{
		"spec.template.spec.containers[0].env[AWS_FEATURE_GATES: DRAEFA]", "spec.template.spec.containers[0].env[AWS_FEATURE_GATES: New]",
		"spec.template.spec.containers[0].env[FEATURE_GATES: Old]", "spec.template.spec.containers[0].envFrom",
	}
	got := lost(deployment("{name: CLUSTER_NAME, value: c}, {name: AWS_FEATURE_GATES, value: 'NodeClassCEL=true,DRAEFA=true,New=true'}, {name: FEATURE_GATES, value: 'ReservedCapacity=true, Old=false'}"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Values of the chart say how the pods run, too. Attributes of the daemon and values of its chart
// have most of it, and none of it is in the output.
func TestConvert_ValuesThatSayHowPodsRunAreNamed(t *testing.T) {
	const says = "how the pods of the controller run is not converted: "
	for name, tt := range map[string]struct{ text, names string }{
		"values":       {"settings: {clusterName: c}\nhostNetwork: true\nreplicas: 3\ncontroller: {env: [{name: A, value: b}], metrics: {port: 8000}, resources: {requests: {cpu: 1}}}\nlogLevel: debug\nserviceMonitor: {enabled: true}\n", "controller.resources, hostNetwork, replicas, serviceMonitor; "},
		"in a part":    {"karpenter: {settings: {clusterName: c}, tolerations: [{operator: Exists}], affinity: {}, dnsPolicy: ''}\nother: {replicas: 2}\n", "karpenter.tolerations; "},
		"of Flux":      {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec: {chart: {spec: {chart: karpenter}}, values: {replicas: 1, serviceAccount: {name: karpenter}, settings: {clusterName: c}}}\n", "spec.values.replicas, spec.values.serviceAccount; "},
		"parameters":   {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: karpenter}\nspec: {source: {chart: karpenter, helm: {parameters: [{name: settings.clusterName, value: c}, {name: podDisruptionBudget.maxUnavailable, value: '1'}]}}}\n", "podDisruptionBudget; "},
		"none":         {"settings: {clusterName: c}\ncontroller: {env: [], resources: {}, image: {tag: 1.0.0}}\naffinity: {}\nreplicas: 2\nserviceAccount: {create: true, name: '', annotations: {}}\nserviceMonitor: {enabled: false}\nterminationGracePeriodSeconds:\n", ""},
		"another's":    {"settings: {debug: true}\nreplicas: 3\n", ""},
		"nothing else": {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec: {chart: {spec: {chart: karpenter}}, values: {replicas: 3}}\n", "spec.values.replicas; "},
	} {
		t.Run(name, func(t *testing.T) {
			result := legacy.Convert([]legacy.Source{{Text: tt.text}}, legacy.Options{})
			var said []string
			for _, p := range result.Warnings {
				if strings.Contains(p.What, says) {
					said = append(said, p.What+"; ")
				}
			}
			want := []string{says + tt.names}
			if tt.names == "" {
				want = nil
			}
			if diff := cmp.Diff(want, said); diff != "" || len(result.Errors) > 0 {
				t.Errorf("%v, -want +got:\n%s", result.Errors, diff)
			}
		})
	}
}
