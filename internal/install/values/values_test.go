package values

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

const needed = "settings: {clusterName: prod, region: us-west-2}\n"

// everything has a value for each field, which is not its default.
const everything = `
settings:
  clusterName: prod
  region: eu-west-1
  useFIPSEndpoint: true
  useDualStackEndpoint: true
  clusterEndpoint: https://10.0.0.1
  interruptionQueue: events
  preferencePolicy: Ignore
  landing: bind
  minValuesPolicy: BestEffort
  nodeCost: "0.02"
  pauseDisruption: true
  reservedENIs: 1
  vmMemoryOverheadPercent: "0.05"
  clusterCABundle: aGVsbG8=
  isolatedVPC: true
  schedulerConfig: "podTopologySpread: {}"
mode: shadow
logLevel: debug
logKeys: hclog
serviceAccount: {name: launcher, roleARN: "arn:aws:iam::123456789012:role/launcher"}
controller:
  image: {repository: mirror.example.com/k, tag: 1.0.0, digest: "sha256:` + digits + `"}
  resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: "2", memory: 2Gi}}
  environment: {GOMEMLIMIT: 1GiB}
  metrics: {port: 9090}
  healthProbe: {port: 9091}
imagePullPolicy: Always
imagePullSecrets: [{name: mirror}]
replicas: 3
priorityClassName: ""
nodeSelector: {pool: system}
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}]}}
tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
additionalLabels: {team: a}
additionalAnnotations: {owner: a}
podLabels: {mesh: "off"}
podAnnotations: {scrape: "true"}
metricsNamespaces: [monitoring]
podDisruptionBudget: {minAvailable: 50%}
definitions: {legacy: true}
`

const digits = "0000000000000000000000000000000000000000000000000000000000000000"

func read(t *testing.T, texts ...string) Values {
	t.Helper()
	var documents [][]byte
	for _, text := range texts {
		documents = append(documents, []byte(text))
	}
	v, err := Read(documents...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDefault_IsTheInstallationsOwn(t *testing.T) {
	release := install.ReleaseImage("1.0.0")
	got, err := read(t, needed).Objects(install.DefaultNamespace, release)
	if err != nil {
		t.Fatal(err)
	}
	want, err := install.Objects(install.Options{ClusterName: "prod", Region: "us-west-2", Image: release.String()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An option that no value sets could be set with Terraform only.
func TestValues_SetEveryOption(t *testing.T) {
	plain, full := read(t, needed).options("a"), read(t, everything).options("b")
	plain.Image, full.Image = "a", "b" // of the build and the values
	var compare func(a, b reflect.Value)
	compare = func(a, b reflect.Value) {
		for i := range a.NumField() {
			field := a.Type().Field(i)
			switch {
			case field.Anonymous:
				compare(a.Field(i), b.Field(i))
			case field.Name == "Name": // there is one daemon in a cluster, and the provider names it so, too
			case reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
				if field.Name != "ClusterName" {
					t.Errorf("no value sets %s", field.Name)
				}
			}
		}
	}
	compare(reflect.ValueOf(plain), reflect.ValueOf(full))
	if plain.ClusterName != "prod" {
		t.Errorf("the cluster is %q", plain.ClusterName)
	}
}

func TestRead_MergesAsHelmDoes(t *testing.T) {
	v := read(t, needed+"controller: {resources: {requests: {cpu: 1}, limits: {memory: null}}}", "settings: {region: eu-west-1}\ntolerations: []\nnodeSelector: {a: b}", "nodeSelector: {c: d}")
	r := v.Controller.Resources
	if r.Requests.Cpu().String() != "1" || r.Requests.Memory().String() != "512Mi" || len(r.Limits) != 0 {
		t.Errorf("resources %v", r)
	}
	if v.Settings.ClusterName != "prod" || v.Settings.Region != "eu-west-1" || len(v.Tolerations) != 0 {
		t.Errorf("settings %v, tolerations %v", v.Settings, v.Tolerations)
	}
	if !reflect.DeepEqual(v.NodeSelector, map[string]string{"a": "b", "c": "d"}) {
		t.Errorf("node selector %v", v.NodeSelector)
	}
	for _, empty := range []string{"", "# nothing", "null"} {
		if got := read(t, empty); !reflect.DeepEqual(got, read(t, "{}")) {
			t.Errorf("%q is read as %v", empty, got)
		}
	}
}

func TestRead_NamesTheFieldAndTheNearestOne(t *testing.T) {
	for text, want := range map[string]string{
		"settings: {clustername: a}":                        "settings.clustername: no such field: did you mean settings.clusterName?",
		"clusterName: a":                                    "clusterName: no such field: did you mean settings.clusterName?",
		"controller: {resource: {}}":                        "controller.resource: no such field: did you mean controller.resources?",
		"settings: {batchMaxDuration: 10s}":                 "settings.batchMaxDuration: no such field: there are clusterName, region, clusterEndpoint,",
		"serviceAccount: {annotations: {a: b}}":             "serviceAccount.annotations: no such field: there are name, roleARN",
		"affinity: {nodeAfinity: {}}":                       "affinity.nodeAfinity: no such field: did you mean affinity.nodeAffinity?",
		"tolerations: [{key: a}, {keys: b}]":                "tolerations[1].keys: no such field: did you mean tolerations[].key?",
		"replicas: two":                                     `replicas: "two": must be a whole number`,
		"replicas: 0":                                       "replicas: 0: must be 1 or more",
		"settings: {reservedENIs: -1}":                      "settings.reservedENIs: -1: must be 0 or more",
		"settings: {vmMemoryOverheadPercent: 0.1}":          "settings.vmMemoryOverheadPercent: 0.1: must be text: put it in quotes",
		"logKeys: zap":                                      `logKeys: "zap": must be one of karpenter, hclog`,
		"replicas: null":                                    "replicas: is null: leave it out, or give a value",
		"nodeSelector: {a: null}":                           "nodeSelector.a: is null, and there is no default that null could take away: remove it",
		"controller: {resources: {limits: {cpu: null}}}":    "controller.resources.limits.cpu: is null, and there is no default",
		"affinity: {nodeAffinity: null}":                    "affinity.nodeAffinity: is null: leave it out",
		"tolerations: [{key: null}]":                        "tolerations[0].key: is null: leave it out",
		"controller: {image: null}":                         "controller.image: is null: leave it out",
		"logLevel: loud":                                    `logLevel: "loud": must be one of trace, debug, info, warn, error`,
		"settings: {nodeCost: 0.1}":                         "settings.nodeCost: 0.1: must be text: put it in quotes",
		"podLabels: {a: true}":                              "podLabels.a: true: must be text: put it in quotes",
		"podLabels: [a]":                                    `podLabels: ["a"]: must be a map`,
		"tolerations: {}":                                   "tolerations: {}: must be a list",
		"definitions: {enabled: yes please}":                `definitions.enabled: "yes please": must be true or false`,
		"controller: {resources: {limits: {memory: lots}}}": `controller.resources.limits.memory: "lots": must be an amount such as 500m or 1Gi`,
		"podDisruptionBudget: {maxUnavailable: 0}":          "podDisruptionBudget.maxUnavailable: 0: must be 1 or more",
		`podDisruptionBudget: {minAvailable: "1"}`:          `podDisruptionBudget.minAvailable: "1": must be a whole number such as 1, or a percentage such as 25%`,
		"replicas: 1\nreplicas: 2":                          "already set",
		"[a]":                                               "the document is no map of fields",
		"settings: {regions: a, nodeCosts: b}":              "settings.nodeCosts: no such field: did you mean settings.nodeCost?\nsettings.regions: no such field: did you mean settings.region?",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// What is wrong is said in words of values, never in those of package install.
func TestObjects_BadValueIsNamedByItsField(t *testing.T) {
	var paths []string
	Describe().walk(func(f Field) { paths = append(paths, f.Path) })
	for text, want := range map[string]string{
		"settings: {clusterName: \"\"}":                                           `settings.clusterName: cluster name "": has 0 characters`,
		"settings: {region: west}":                                                `settings.region: "west": must be a region`,
		"settings: {clusterEndpoint: x}":                                          `settings.clusterEndpoint: cluster endpoint "x": must be an https URL`,
		"settings: {interruptionQueue: a/b}":                                      `settings.interruptionQueue: queue name "a/b"`,
		"settings: {nodeCost: x}":                                                 `settings.nodeCost: node cost "x"`,
		"settings: {reservedENIs: 101}":                                           "settings.reservedENIs: reserved network interfaces 101: must be from 0 to 100",
		"settings: {vmMemoryOverheadPercent: \"7.5\"}":                            `settings.vmMemoryOverheadPercent: VM memory overhead "7.5": must be the part`,
		"settings: {clusterCABundle: x}":                                          "settings.clusterCABundle: is not in base64: give certificates",
		"serviceAccount: {name: A B}":                                             `serviceAccount.name: "A B": a lowercase`,
		"serviceAccount: {roleARN: x}":                                            `serviceAccount.roleARN: role ARN "x": must be arn:`,
		"controller: {image: {repository: busybox}}":                              `controller.image.repository: registry "busybox": must be a host`,
		"controller: {image: {repository: a.b/C}}":                                `controller.image.repository: repository "C"`,
		"controller: {image: {tag: a b}}":                                         `controller.image.tag: tag "a b"`,
		"controller: {image: {digest: x}}":                                        `controller.image.digest: digest "x"`,
		"controller: {resources: {limits: {memory: 1}}}":                          "controller.resources: the request of memory is 512Mi and its limit 1",
		"controller: {environment: {LOG_LEVEL: x}}":                               "controller.environment: LOG_LEVEL: is a setting of the daemon",
		"controller: {metrics: {port: 8081}}":                                     "controller.metrics.port: metrics and health probes have the same port",
		"controller: {healthProbe: {port: 70000}}":                                "controller.healthProbe.port: 70000: must be a port",
		"controller: {metrics: {port: 70000}}":                                    "controller.metrics.port: 70000: must be a port",
		"imagePullSecrets: [{}]":                                                  `imagePullSecrets: "": a lowercase`,
		"priorityClassName: A B":                                                  `priorityClassName: "A B"`,
		"nodeSelector: {karpenter.sh/nodepool: a}":                                "nodeSelector: karpenter.sh/nodepool=a: the daemon must not run",
		"tolerations: [{key: a, operator: Exists}, {operator: Exists, value: b}]": `tolerations[1]: operator Exists has value "b"`,
		"additionalLabels: {app.kubernetes.io/name: x}":                           "additionalLabels: app.kubernetes.io/name: is set by the product",
		"podLabels: {a: b c}":                                                     `podLabels: a="b c"`,
		"additionalAnnotations: {eks.amazonaws.com/role-arn: x}":                  "additionalAnnotations: eks.amazonaws.com/role-arn: names the role",
		"podAnnotations: {karpenterd.sh/checksum: x}":                             "podAnnotations: karpenterd.sh/checksum: is set by the product",
		"podDisruptionBudget: {minAvailable: 2}":                                  "podDisruptionBudget: 2 of 2 replicas allows no eviction",
		"podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}":               "podDisruptionBudget: both",
	} {
		_, err := read(t, needed, text).Objects("karpenter", install.ReleaseImage("1.0.0"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line that begins with %q", text, err, want)
		}
	}
	for option, field := range fieldOf() {
		if field != "namespace" && !slices.Contains(paths, field) {
			t.Errorf("%s is said to be %s, which is no field", option, field)
		}
	}
}

func TestObjects_ImageIsTheReleasesOrTheOneOfTheValues(t *testing.T) {
	digest := "sha256:" + digits
	for _, c := range []struct {
		text    string
		release install.Image
		want    string
	}{
		{"", install.BuildImage("1.2.3", ""), "ghcr.io/karpenterd/karpenterd:1.2.3"},
		{"", install.BuildImage("1.2.3", digest), "ghcr.io/karpenterd/karpenterd@" + digest},
		{"{repository: mirror.example.com/k}", install.BuildImage("1.2.3", digest), "mirror.example.com/k@" + digest},
		{"{tag: own}", install.BuildImage("1.2.3", digest), "ghcr.io/karpenterd/karpenterd:own"},
		{"{tag: own, digest: \"" + digest + "\"}", install.BuildImage("dev", ""), "ghcr.io/karpenterd/karpenterd:own@" + digest},
	} {
		v := read(t, needed)
		if c.text != "" {
			v = read(t, needed, "controller: {image: "+c.text+"}")
		}
		if got, err := v.Controller.Image.reference(c.release); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
	for _, version := range []string{"dev", "0.0.0-dev", "1.2.3-next", "1.2.3-5-g0123456"} {
		_, err := read(t, needed).Objects("karpenter", install.BuildImage(version, ""))
		if err == nil || !strings.Contains(err.Error(), "controller.image: no image to deploy: this build is no release") {
			t.Errorf("version %s: error %v", version, err)
		}
	}
	if got := ImageOf("localhost:5000/a/b:1@" + digest); got != (Image{"localhost:5000/a/b", "1", digest}) {
		t.Errorf("a reference is read as %+v", got)
	}
}

func TestObjects_DefinitionsAreLeftOutWhenAsked(t *testing.T) {
	for text, want := range map[string]int{"{}": 3, "{legacy: true}": 5, "{enabled: false}": 0, "{enabled: false, legacy: true}": 0} {
		objects, err := read(t, needed, "definitions: "+text).Objects("karpenter", install.ReleaseImage("1.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d definitions, want %d", text, got, want)
		}
	}
}

// What is written for users to begin with is read as nothing else than the defaults.
func TestYAML_IsReadAsTheDefaultsAndExplainsEachField(t *testing.T) {
	text, err := YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, "{}"), read(t, string(text))); diff != "" {
		t.Error(diff)
	}
	Describe().walk(func(f Field) {
		if f.Path != "" && !strings.Contains(f.Path, "[]") && !strings.HasPrefix(f.Path, "affinity.") && (f.Doc == "" || !strings.Contains(string(text), f.Name+":")) {
			t.Errorf("%s is not explained", f.Path)
		}
	})
}
