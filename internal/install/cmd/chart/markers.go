package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// Markers of options. Each occurs where the option does, and nowhere else.
const (
	namespace, account, image, cluster, endpoint = "chart-namespace", "chart-account", "chart.example/image:0", "chart-cluster", "https://chart.example"
	region, queue, cost, scheduler, class        = "xx-chart-1", "chart-queue", "3.14159", "chart-scheduler", "chart-class"
	level, preference, minValues, pull           = "trace", install.PreferencesIgnore, install.MinValuesBestEffort, string(corev1.PullNever)
	landing                                      = install.LandingBind
	role                                         = "arn:aws:iam::000000000000:role/chart"
	key                                          = "chart.example/" // and the name of the value, in maps
	replicas, metricsPort, healthPort            = 10100, 10101, 10102
	reserved, overhead, keys                     = 99, "0.314159", install.LogKeysHCLog
	// authority is a certificate, whose key nobody has: package install reads what it is given.
	authority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJjVENDQVJlZ0F3SUJBZ0lVVW44cDZQV2RxS1RJcVhtS0ZrNittTlhGSmZFd0NnWUlLb1pJemowRUF3SXcKRFRFTE1Ba0dBMVVFQXd3Q1kyRXdJQmNOTWpZeE1USTNNakl5TURRNVdoZ1BNakV5TmpFeE1ETXlNakl3TkRsYQpNQTB4Q3pBSkJnTlZCQU1NQW1OaE1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRW9mS1lxK1JtCjdvbHA2SjVkYW5qRlRSa09xSmt4ODNpRzNPQ2ZPOEFNU2dCd0xaN1prZis0R3huK1ZtUjFPQXZ0V2dYSmlWU2wKMmxqQjJLTUlLOEpEMDZOVE1GRXdIUVlEVlIwT0JCWUVGUENSNXN4QTNmWEg0WXdZTmE3QTliV0plT0QxTUI4RwpBMVVkSXdRWU1CYUFGUENSNXN4QTNmWEg0WXdZTmE3QTliV0plT0QxTUE4R0ExVWRFd0VCL3dRRk1BTUJBZjh3CkNnWUlLb1pJemowRUF3SURTQUF3UlFJaEFNV3lPOTVqeHpNNDV3eGxOWDQyb2lwQmRmVy9vbklGZmVZblRoa1oKZTIyNEFpQmVQRCtQMzlXNGVpRUkzd0ZOczQ3Wnk4T0FjcW5KSTBsaThqYmNOZVNSZmc9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
)

// minimal are options with what has no default.
func minimal() install.Options {
	return install.Options{Namespace: namespace, ServiceAccount: account, Image: image, ClusterName: cluster, Region: region}
}

// marked are options with a marker for each that is not replaced by its place in the objects.
func marked() install.Options {
	o := minimal()
	priority := class
	o.Replicas, o.RoleARN, o.ClusterEndpoint, o.QueueName, o.SchedulerConfig = replicas, role, endpoint, queue, scheduler
	o.LogLevel, o.PreferencePolicy, o.MinValuesPolicy, o.NodeCost, o.PauseDisruption = level, preference, minValues, cost, true
	o.Landing = landing
	o.FIPS, o.DualStack = true, true // they stand in environment
	o.ReservedENIs, o.MemoryOverhead, o.ClusterCA, o.IsolatedVPC, o.LogKeys = reserved, overhead, authority, true, keys
	o.Labels, o.Annotations = map[string]string{key + "additionalLabels": "x"}, map[string]string{key + "additionalAnnotations": "x"}
	o.Pods = install.Pods{
		Tolerations: []corev1.Toleration{{Key: key + "tolerations", Operator: corev1.TolerationOpExists}}, NodeSelector: map[string]string{key + "nodeSelector": "x"},
		PriorityClass: &priority, PullPolicy: corev1.PullPolicy(pull), PullSecrets: []string{"chart-secret"}, Environment: map[string]string{"CHART_ENVIRONMENT": "x"},
		PodLabels: map[string]string{key + "podLabels": "x"}, PodAnnotations: map[string]string{key + "podAnnotations": "x"}, MetricsPort: metricsPort, HealthPort: healthPort,
		MetricsNamespaces: []string{},
	}
	return o
}

// expressions has what stands in a template for a marker.
func expressions() map[string]string {
	required := func(field, example string) string {
		return fmt.Sprintf(`required "%s: is required, such as %s" .Values.%s`, field, example, field)
	}
	return map[string]string{
		namespace: ".Release.Namespace", account: `include "karpenterd.account" .`, image: `include "karpenterd.image" .`,
		cluster: required("settings.clusterName", "prod"), region: required("settings.region", "us-west-2"),
		endpoint: ".Values.settings.clusterEndpoint", queue: ".Values.settings.interruptionQueue", scheduler: ".Values.settings.schedulerConfig",
		cost: ".Values.settings.nodeCost", level: ".Values.logLevel", preference: ".Values.settings.preferencePolicy", minValues: ".Values.settings.minValuesPolicy",
		pull: ".Values.imagePullPolicy", overhead: ".Values.settings.vmMemoryOverheadPercent", authority: ".Values.settings.clusterCABundle", keys: ".Values.logKeys",
		fmt.Sprint(replicas): ".Values.replicas", fmt.Sprint(metricsPort): ".Values.controller.metrics.port", fmt.Sprint(healthPort): ".Values.controller.healthProbe.port",
	}
}

// variables has what stands for the value of environment variables whose value is no marker: it
// occurs elsewhere, too.
func variables() map[string]string {
	return map[string]string{
		install.EnvPauseDisruption: ".Values.settings.pauseDisruption", install.EnvIsolatedVPC: ".Values.settings.isolatedVPC",
		install.EnvReservedENIs: ".Values.settings.reservedENIs", install.EnvLanding: ".Values.settings.landing",
	}
}

// merged are the values that are merged into maps, the last on top.
func merged() []string {
	return []string{"additionalLabels", "podLabels", "additionalAnnotations", "podAnnotations"}
}

// places has what stands at certain places of the objects, whatever is rendered there.
func places() map[string]any {
	const pod = "Deployment.spec.template.spec."
	return map[string]any{
		"ServiceAccount.metadata.annotations":     guarded{`include "karpenterd.accountAnnotations" .`, "fromJson . | toYaml"},
		pod + "affinity":                          block{`include "karpenterd.affinity" .`},
		pod + "tolerations":                       guarded{".Values.tolerations", "toYaml ."},
		pod + "nodeSelector":                      guarded{".Values.nodeSelector", "toYaml ."},
		pod + "imagePullSecrets":                  guarded{".Values.imagePullSecrets", "toYaml ."},
		pod + "priorityClassName":                 optional{`include "karpenterd.priorityClass" .`},
		pod + "containers[].args":                 raw(arguments),
		pod + "containers[].resources":            guarded{".Values.controller.resources", "toYaml ."},
		"PodDisruptionBudget.spec.maxUnavailable": raw(budget),
		"NetworkPolicy.spec.ingress":              raw(ingress),
		"Deployment.spec.template.metadata.annotations." + install.ChecksumAnnotation: scalar{`include "karpenterd.checksum" .`},
	}
}

// arguments are those of the container.
const arguments = `args: ["` + install.Command + `"{{ if ` + shadowed + ` }}, "` + install.ShadowArgument + `"{{ end }}]`

// budget is the number of the PodDisruptionBudget.
const budget = `{{- with .Values.podDisruptionBudget }}
{{- $least := not (kindIs "invalid" .minAvailable) }}
{{- $most := not (kindIs "invalid" .maxUnavailable) }}
{{- if and $least $most }}
{{- fail "podDisruptionBudget: both maxUnavailable and minAvailable are given: keep one" }}
{{- end }}
{{- if $least }}
minAvailable: {{ .minAvailable }}
{{- else }}
maxUnavailable: {{ if $most }}{{ .maxUnavailable }}{{ else }}` + install.DefaultMaxUnavailable + `{{ end }}
{{- end }}
{{- end }}`

// ingress are the rules of the NetworkPolicy.
const ingress = `ingress:
- ports:
  - port: {{ .Values.controller.healthProbe.port }}
    protocol: TCP
{{- with .Values.metricsNamespaces }}
- from:
  - namespaceSelector:
      matchExpressions:
      - key: ` + corev1.LabelMetadataName + `
        operator: In
        values:
          {{- toYaml . | nindent 10 }}
  ports:
  - port: {{ $.Values.controller.metrics.port }}
    protocol: TCP
{{- end }}`

// environment has the condition of each variable that is not always there and has the same value wherever it is.
func environment() map[string]string {
	return map[string]string{
		install.EnvMemoryLimit: `dig "limits" "memory" "" .Values.controller.resources`,
		install.EnvFIPS:        ".Values.settings.useFIPSEndpoint",
		install.EnvDualStack:   ".Values.settings.useDualStackEndpoint",
	}
}

// objects writes the templates of all objects but the definitions and the namespace, which is the release's.
func objects(files map[string]string) error {
	plain, err := rendered(minimal())
	if err != nil {
		return err
	}
	g := generator{expressions: expressions(), places: places(), always: names(plain)}
	active, err := g.templates(marked())
	if err != nil {
		return err
	}
	other := marked()
	other.Mode = install.ModeShadow
	shadows, err := g.templates(other)
	if err != nil {
		return err
	}
	if len(active) != len(shadows) {
		return fmt.Errorf("a shadow has %d objects, and a daemon %d: the chart has one in the place of the other", len(shadows), len(active))
	}
	for i, o := range active {
		text := o.text
		if text != shadows[i].text {
			text = "{{- if " + shadowed + " }}\n" + shadows[i].text + "{{- else }}\n" + text + "{{- end }}\n"
		}
		switch o.kind {
		case "PodDisruptionBudget":
			text = "{{- if .Values.podDisruptionBudget.enabled }}\n" + text + "{{- end }}\n"
		case "NetworkPolicy":
			text = "{{- if not (kindIs \"invalid\" .Values.metricsNamespaces) }}\n" + text + "{{- end }}\n"
		}
		file := "templates/" + strings.ToLower(o.kind) + ".yaml"
		if strings.Contains(o.kind, "Role") {
			file = "templates/rbac.yaml"
		}
		if before, there := files[file]; there {
			files[file] = before + "---\n" + text
			continue
		}
		files[file] = "{{- /* " + generated + " */}}\n" + text
	}
	return g.unused()
}

// shadowed is true of a shadow.
const shadowed = `eq .Values.mode "` + install.ModeShadow + `"`

// templated is the template of an object.
type templated struct{ kind, text string }

// templates are those of the objects of the options but the definitions and the namespace.
func (g *generator) templates(o install.Options) ([]templated, error) {
	all, err := rendered(o)
	if err != nil {
		return nil, err
	}
	var out []templated
	for _, object := range all {
		if object.GetKind() == "Namespace" {
			continue
		}
		text, err := g.template(object)
		if err != nil {
			return nil, fmt.Errorf("template of %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "ClusterRole" {
			if text, err = guardedRules(text, o.Mode); err != nil {
				return nil, err
			}
		}
		out = append(out, templated{object.GetKind(), text})
	}
	return out, nil
}

// rendered are the objects of the options without the definitions.
func rendered(o install.Options) ([]*unstructured.Unstructured, error) {
	all, err := install.Objects(o)
	if err != nil {
		return nil, fmt.Errorf("objects render: %w", err)
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }), nil
}

// names are those of the environment variables that are always there.
func names(all []*unstructured.Unstructured) map[string]bool {
	out := map[string]bool{}
	containers, _, _ := unstructured.NestedSlice(all[len(all)-1].Object, append(podSpec(), "containers")...)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		list, _ := container["env"].([]any)
		for _, e := range list {
			entry, _ := e.(map[string]any)
			variable, _ := entry["name"].(string)
			out[variable] = true
		}
	}
	maps.DeleteFunc(out, func(name string, _ bool) bool { return environment()[name] != "" })
	return out
}

// Rules of the ClusterRole that some installations do without.
const (
	bindings = `- apiGroups: [""]
  resources: ["pods/binding"]
  verbs: ["create"]
`
	selectors = `- apiGroups: [""]
  resources: ["services", "replicationcontrollers"]
  verbs: ["list", "watch"]
`
)

// guardedRules has the rules in the ClusterRole which some installations do without.
func guardedRules(text, mode string) (string, error) {
	rules := map[string]string{selectors: ".Values.settings.schedulerConfig"}
	if mode != install.ModeShadow { // which binds no pods
		rules[bindings] = `ne .Values.settings.landing "` + install.LandingPrefer + `"`
	}
	for rule, condition := range rules {
		var err error
		if text, err = guardedRule(text, rule, condition); err != nil {
			return "", err
		}
	}
	return text, nil
}

// guardedRule has the rule in the ClusterRole where the condition holds.
func guardedRule(text, rule, condition string) (string, error) {
	before, after, found := strings.Cut(text, rule)
	if !found || strings.Contains(after, rule) {
		return "", fmt.Errorf("template of the ClusterRole: the rule\n%sis not once in\n%s", rule, text)
	}
	return before + "{{- if " + condition + " }}\n" + rule + "{{- end }}\n" + after, nil
}
