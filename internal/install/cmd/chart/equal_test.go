//go:build lab

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install/values"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const (
	needed = "settings: {clusterName: prod, region: us-west-2}"
	imaged = "controller: {image: {tag: 1.0.0}}"
	digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// helm is the program with a chart in a folder.
type helm struct{ program, folder string }

func startHelm(t *testing.T, version, digest string) helm {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Helm)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), name)
	if err := write(folder, version, digest); err != nil {
		t.Fatal(err)
	}
	return helm{tools[toolchain.Helm].Path, folder}
}

// run calls helm with values files.
func (h helm) run(t *testing.T, args []string, texts ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", file)
	}
	c := exec.CommandContext(t.Context(), h.program, args...)
	c.Env = append(os.Environ(), "HOME="+dir)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%w: %s%s", err, said.String(), out.String())
	}
	return out.String(), nil
}

func (h helm) template(t *testing.T, texts ...string) (string, error) {
	t.Helper()
	return h.run(t, []string{"template", "any", h.folder, "--namespace", "nodes", "--kube-version", "1.36"}, texts...)
}

// ours are the manifests of the values.
func ours(release install.Image, texts ...string) (string, error) {
	var documents [][]byte
	for _, text := range texts {
		documents = append(documents, []byte(text))
	}
	v, err := values.Read(documents...)
	if err != nil {
		return "", err
	}
	objects, err := v.Objects("nodes", release)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", err
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String(), nil
}

// parsed are the objects of a text by kind and name, as the API server reads them.
func parsed(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	decoder := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if _, there := out[key]; there {
			t.Errorf("%s is there twice", key)
		}
		out[key] = o.Object
		if typed := typeOf(o.GetKind()); typed != nil {
			// Strict: a field that is unknown, or there twice, is an error.
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
				t.Fatalf("%s: %v\n%s", key, err, text)
			}
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				t.Fatal(err)
			}
			out[key] = fields
		} else if o.GetKind() != "CustomResourceDefinition" {
			t.Fatalf("%s: the test does not know the kind", key)
		}
	}
}

func typeOf(kind string) any {
	return map[string]any{
		"ServiceAccount": &corev1.ServiceAccount{}, "ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{}, "Namespace": &corev1.Namespace{},
		"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
		"NetworkPolicy": &networkingv1.NetworkPolicy{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "Deployment": &appsv1.Deployment{},
	}[kind]
}

// same compares what helm and what install make of the values. The chart has two differences: it leaves the
// namespace to the release, and says that definitions stay.
func (h helm) same(t *testing.T, release install.Image, texts ...string) {
	t.Helper()
	want, err := ours(release, texts...)
	if err != nil {
		t.Fatalf("%v of\n%s", err, strings.Join(texts, "\n---\n"))
	}
	got, err := h.template(t, texts...)
	if err != nil {
		t.Fatalf("%v of\n%s", err, strings.Join(texts, "\n---\n"))
	}
	wanted, rendered := parsed(t, want), parsed(t, got)
	delete(wanted, "Namespace /nodes")
	for key, fields := range rendered {
		if strings.HasPrefix(key, "CustomResourceDefinition") {
			o := unstructured.Unstructured{Object: fields}
			annotations := o.GetAnnotations()
			if annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s goes with the release", key)
			}
			if delete(annotations, "helm.sh/resource-policy"); len(annotations) == 0 {
				annotations = nil
			}
			o.SetAnnotations(annotations)
		}
	}
	if diff := cmp.Diff(wanted, rendered); diff != "" {
		t.Errorf("install (-) and the chart (+) differ for\n%s\n%s", strings.Join(texts, "\n---\n"), diff)
	}
}

// fragments set one thing each.
func fragments() []string {
	term := `{topologyKey: zone, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}, namespaces: [x]}`
	return []string{
		"mode: shadow\nserviceAccount: {name: observer}", "mode: active", "mode: shadow\nserviceAccount: {name: observer}\nsettings: {landing: prefer, schedulerConfig: \"podTopologySpread: {}\"}", "settings: {clusterEndpoint: https://10.0.0.1}", "settings: {interruptionQueue: events}", "settings: {preferencePolicy: Ignore}", "settings: {landing: bind}", "settings: {landing: prefer}", "settings: {minValuesPolicy: BestEffort}",
		`settings: {nodeCost: "0.02"}`, "settings: {pauseDisruption: true}", "settings: {reservedENIs: 1}", `settings: {vmMemoryOverheadPercent: "0"}`, "settings: {isolatedVPC: true}",
		"settings: {useFIPSEndpoint: true}", "settings: {useDualStackEndpoint: true}", "settings: {useFIPSEndpoint: false, useDualStackEndpoint: true}",
		"settings: {clusterCABundle: " + authority + "}", "logKeys: hclog", "settings: {schedulerConfig: \"podTopologySpread:\\n  defaultConstraints: []\\n\"}", "logLevel: trace",
		"serviceAccount: {name: launcher}", "serviceAccount: {roleARN: \"arn:aws:iam::123456789012:role/a\"}",
		"serviceAccount: {roleARN: \"arn:aws:iam::123456789012:role/a\"}\nadditionalAnnotations: {b: \"<&>\", z: \"é\"}",
		"controller: {image: {repository: mirror.example.com:5000/a/b}}", "controller: {image: {digest: \"" + digest + "\"}}",
		"controller: {resources: {requests: {cpu: 1}}}", "controller: {resources: {requests: {cpu: 0.25, memory: 1024Mi}, limits: {memory: 2Gi, cpu: 1500m}}}",
		"controller: {resources: {limits: null}}", "controller: {resources: {limits: {memory: null}}}", "controller: {resources: {limits: {memory: null, cpu: 2}}}",
		"controller: {resources: {requests: null, limits: null}}", "controller: {resources: {requests: {memory: null}}}",
		"controller: {environment: {Z: \"1\", HTTPS_PROXY: \"http://u:p@h\", A: \"a \\\"b\\\"\\nc: {{d}}\"}}", "controller: {metrics: {port: 9090}}", "controller: {healthProbe: {port: 65535}}",
		"imagePullPolicy: Always", "imagePullSecrets: [{name: a}, {name: b}]", "imagePullSecrets: null", "replicas: 5", "replicas: 1", `priorityClassName: ""`, "priorityClassName: high",
		"nodeSelector: {a: b, c: \"true\"}", "nodeSelector: null", "tolerations: []", "tolerations: null", "tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 30}]",
		"{replicas: 1, affinity: {podAntiAffinity: {}}}", "affinity: null", "affinity: {}", "affinity: {nodeAffinity: {}}", "affinity: {podAntiAffinity: {}}", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + term + "]}}",
		"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: " + term + "}]}}",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}",
		"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, preference: {matchExpressions: [{key: a, operator: In, values: [b]}]}}]}}",
		"additionalLabels: {team: a, number: \"1\"}", "additionalLabels: null", "additionalAnnotations: {owner: a}", "additionalAnnotations: null", "podLabels: {mesh: \"off\"}", "podAnnotations: {scrape: \"true\"}",
		"additionalLabels: {both: all}\npodLabels: {both: pods}\nadditionalAnnotations: {both: all}\npodAnnotations: {both: pods}",
		"podDisruptionBudget: {enabled: false}", "podDisruptionBudget: {maxUnavailable: 50%}", "podDisruptionBudget: {minAvailable: 1}", "podDisruptionBudget: {minAvailable: 50%}", "podDisruptionBudget: {maxUnavailable: null}",
		"metricsNamespaces: []", "metricsNamespaces: [monitoring, kube-system]", "metricsNamespaces: null", "{metricsNamespaces: [a], controller: {metrics: {port: 9090}, healthProbe: {port: 9091}}}",
		"definitions: {legacy: true}", "definitions: {enabled: true}", "{}", "",
	}
}

func TestChart_GivesTheObjectsOfTheManifests(t *testing.T) {
	h, none := startHelm(t, devVersion, ""), install.BuildImage("dev", "")
	t.Run("by default", func(t *testing.T) { h.same(t, none, needed, imaged) })
	const brief = "definitions: {enabled: false}" // they take most of the time, and only their values change them
	for i, fragment := range fragments() {
		t.Run(fmt.Sprintf("one value/%02d", i), func(t *testing.T) { h.same(t, none, needed, imaged, brief, fragment) })
	}
	t.Run("a shadow", func(t *testing.T) {
		h.same(t, none, needed, imaged, "mode: shadow\nserviceAccount: {name: observer}", "definitions: {legacy: true}")
	})
	t.Run("with older definitions", func(t *testing.T) { h.same(t, none, needed, imaged, "definitions: {legacy: true}") })
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("drawn/%02d", seed), func(t *testing.T) {
			random, texts := rand.New(rand.NewPCG(seed, 0)), []string{needed, imaged, brief}
			for _, fragment := range fragments() {
				if random.IntN(3) == 0 {
					texts = append(texts, fragment)
				}
			}
			random.Shuffle(len(texts)-3, func(i, j int) { texts[i+3], texts[j+3] = texts[j+3], texts[i+3] })
			if _, err := ours(none, texts...); err != nil { // numbers of a budget that do not go together
				texts = append(texts, "replicas: 5\npodDisruptionBudget: {enabled: true, maxUnavailable: null}")
			}
			if _, err := ours(none, texts...); err != nil {
				texts = append(texts, "podDisruptionBudget: {minAvailable: null}")
			}
			h.same(t, none, texts...)
		})
	}
	released := startHelm(t, "1.2.3", digest)
	t.Run("released", func(t *testing.T) { released.same(t, install.BuildImage("1.2.3", digest), needed) })
	t.Run("released with a tag", func(t *testing.T) { released.same(t, install.BuildImage("1.2.3", digest), needed, imaged) })
	byTag := startHelm(t, "1.2.3", "")
	t.Run("released by tag", func(t *testing.T) { byTag.same(t, install.BuildImage("1.2.3", ""), needed) })
}

func TestChart_RefusesWhatTheManifestsRefuse(t *testing.T) {
	h := startHelm(t, devVersion, "")
	for text, want := range map[string]string{
		"setings: {}": "setings", "settings: {clustername: a}": "clustername", "controller: {env: []}": "env", "affinity: {nodeAfinity: {}}": "nodeAfinity",
		"tolerations: [{keys: a}]": "keys", "imagePullSecrets: [a]": "imagePullSecrets", "logLevel: loud": "logLevel", "mode: idle": "mode", "mode: shadow": "serviceAccount.name", "replicas: 0": "replicas", "replicas: two": "replicas", "replicas: null": "replicas",
		"settings: null": "settings", "nodeSelector: {a: null}": "nodeSelector", "controller: {resources: {limits: {cpu: null}}}": "limits", "affinity: {nodeAffinity: null}": "nodeAffinity",
		"tolerations: [{key: null}]": "key", "controller: {image: null}": "image", "settings: {nodeCost: 0.1}": "nodeCost", "settings: {reservedENIs: -1}": "reservedENIs", "logKeys: zap": "logKeys", "podLabels: {a: true}": "podLabels", "controller: {metrics: {port: 80}}": "port",
		"podDisruptionBudget: {maxUnavailable: 0}": "maxUnavailable", `podDisruptionBudget: {minAvailable: "1"}`: "minAvailable", "podDisruptionBudget: {maxUnavailable: 1, minAvailable: 1}": "podDisruptionBudget",
		"definitions: {enabled: 1}": "enabled", "settings: {clusterName: \"\"}": "settings.clusterName", "settings: {region: \"\"}": "settings.region", "controller: {image: {tag: \"\"}}": "controller.image",
	} {
		_, mine := ours(install.BuildImage("dev", ""), needed, imaged, text)
		_, theirs := h.template(t, needed, imaged, text)
		for who, err := range map[string]error{"manifests": mine, "helm": theirs} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s says %v, want %s to be named", text, who, err, want)
			}
		}
	}
}

func TestChart_PassesLint(t *testing.T) {
	h := startHelm(t, devVersion, "")
	for what, texts := range map[string][]string{"as it is": nil, "with values": {needed, imaged}} {
		out, err := h.run(t, []string{"lint", h.folder}, texts...)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") {
			t.Errorf("%s: %s", what, out)
		}
	}
}

// The chart of the tree is what users of the repository install.
func TestChart_InTheTreeIsTheOneThatIsTested(t *testing.T) {
	root, err := toolchain.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := chart(devVersion, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(filepath.Join(root, "daemon", "chart", filepath.FromSlash(file)))
		if err != nil || string(text) != files[file] {
			t.Errorf("%s is stale (%v): make generate", file, err)
		}
	}
}
