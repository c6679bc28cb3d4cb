package drift_test

import (
	"slices"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
)

const poolText = `
metadata: {name: web}
spec:
  weight: 5
  limits: {cpu: "10"}
  disruption: {consolidateAfter: 1m, budgets: [{nodes: 10%}]}
  template:
    metadata: {labels: {team: web, note: ""}, annotations: {a: b}}
    spec:
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: a, value: x, effect: NoSchedule}, {key: b, effect: NoExecute}]
      startupTaints: [{key: cni, effect: NoSchedule}]
      terminationGracePeriod: 1h
      expireAfter: 48h
`

const classText = `
metadata: {name: default}
spec:
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  capacityReservationSelectorTerms: [{id: cr-1}]
  amiSelectorTerms: [{alias: al2023@latest}]
  instanceProfile: nodes
  tags: {team: web}
  metadataOptions: {httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 2, httpTokens: required}
  blockDeviceMappings:
  - {deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 100Gi, volumeType: gp3, encrypted: true}}
  - {deviceName: /dev/xvdb, ebs: {volumeSize: 1Ti}}
  userData: echo hello
  detailedMonitoring: true
  associatePublicIPAddress: false
  kubelet: {maxPods: 110, podsPerCore: 10}
`

// read reads the text after replacing old by new.
func read[T any](t *testing.T, text, old, replacement string) *T {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in the text", old)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(strings.Replace(text, old, replacement, 1)), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func poolHash(t *testing.T, old, replacement string) string {
	t.Helper()
	return drift.PoolHash(read[v1.NodePool](t, poolText, old, replacement))
}

func classHash(t *testing.T, old, replacement string) string {
	t.Helper()
	return drift.ClassHash(read[awsv1.EC2NodeClass](t, classText, old, replacement))
}

// A hash that changes with the program replaces every node of every cluster.
func TestHash_OfAnObjectStaysFromReleaseToRelease(t *testing.T) {
	const pool = "annotations=db4a7ecb11,expireAfter=60347c3727,labels=8cab7fbb0e,nodeClassRef=4196737769," +
		"startupTaints=742ed6dade,taints=a79f922b27,terminationGracePeriod=fbb971481f"
	const class = "associatePublicIPAddress=fcbcf16590,blockDeviceMappings=6fc240699d,detailedMonitoring=b5bea41b6c," +
		"instanceProfile=bbef1c1993,kubelet=0808af6051,metadataOptions=cec1b39db1,tags=625f4d9435,userData=40a4976465"
	if got := poolHash(t, "", ""); got != pool {
		t.Errorf("hash of the pool is\n%s, want\n%s: a change of what counts needs another drift.Version", got, pool)
	}
	if got := classHash(t, "", ""); got != class {
		t.Errorf("hash of the class is\n%s, want\n%s: a change of what counts needs another drift.Version", got, class)
	}
}

func TestHash_EveryStaticFieldCounts(t *testing.T) {
	before := poolHash(t, "", "")
	for _, c := range [][2]string{
		{"team: web", "team: api"},
		{`note: ""`, `remark: ""`},
		{"a: b", "a: c"},
		{"name: default", "name: other"},
		{"value: x", "value: z"},
		{"key: cni", "key: csi"},
		{"terminationGracePeriod: 1h", "terminationGracePeriod: 2h"},
		{"expireAfter: 48h", "expireAfter: Never"},
	} {
		if poolHash(t, c[0], c[1]) == before {
			t.Errorf("%s for %s changes nothing", c[1], c[0])
		}
	}
	before = classHash(t, "", "")
	for _, c := range [][2]string{
		{"instanceProfile: nodes", "instanceProfile: others"},
		{"team: web", "team: api"},
		{"httpPutResponseHopLimit: 2", "httpPutResponseHopLimit: 1"},
		{"httpTokens: required", "httpTokens: optional"},
		{"100Gi", "200Gi"},
		{"encrypted: true", "encrypted: false"},
		{"echo hello", "echo bye"},
		{"detailedMonitoring: true", "detailedMonitoring: false"},
		{"associatePublicIPAddress: false", "associatePublicIPAddress: true"},
		{"  associatePublicIPAddress: false\n", ""},
		{"maxPods: 110", "maxPods: 50"},
		{"podsPerCore: 10", "podsPerCore: 5"},
		{"maxPods: 110", "maxPods: 110, clusterDNS: [10.0.0.10]"},
		{"maxPods: 110", "maxPods: 110, kubeReserved: {cpu: 100m}"},
		{"al2023@latest", "bottlerocket@latest"},
		{"userData: echo", "amiFamily: Custom\n  userData: echo"},
		{"volumeSize: 1Ti", "volumeSize: 1Ti, snapshotID: snap-1"},
		{"maxPods: 110", "maxPods: 110, evictionHard: {memory.available: 5%}"},
	} {
		if classHash(t, c[0], c[1]) == before {
			t.Errorf("%s for %s changes nothing", c[1], c[0])
		}
	}
}

func TestHash_LeavesOutWhatIsNoStaticDrift(t *testing.T) {
	before := poolHash(t, "", "")
	for _, c := range [][2]string{
		{"weight: 5", "weight: 6"},
		{`cpu: "10"`, `cpu: "20"`},
		{"consolidateAfter: 1m", "consolidateAfter: 2m"},
		{"nodes: 10%", "nodes: 20%"},
		{"[amd64]", "[arm64]"},
	} {
		if poolHash(t, c[0], c[1]) != before {
			t.Errorf("%s for %s changes the hash", c[1], c[0])
		}
	}
	before = classHash(t, "", "")
	for _, c := range [][2]string{
		{"id: subnet-1", "id: subnet-2"},
		{"id: sg-1", "id: sg-2"},
		{"id: cr-1", "id: cr-2"},
		{"al2023@latest", "al2023@v20260101"},
		// What is not carried out makes no difference to a node.
		{"  associatePublicIPAddress", "  amiFamily: AL2023\n  networkInterfaces: [{deviceIndex: 0}]\n  cpuOptions: {nestedVirtualization: enabled}\n  associatePublicIPAddress"},
	} {
		if classHash(t, c[0], c[1]) != before {
			t.Errorf("%s for %s changes the hash", c[1], c[0])
		}
	}
}

func TestHash_ARoleIsTheSameByNameAndByARN(t *testing.T) {
	byName := classHash(t, "instanceProfile: nodes", "role: nodes")
	for _, same := range []string{"arn:aws:iam::123456789012:role/nodes", "arn:aws:iam::123456789012:role/path/nodes", "path/nodes"} {
		if got := classHash(t, "instanceProfile: nodes", "role: "+same); got != byName {
			t.Errorf("%s: %s, want %s", same, got, byName)
		}
	}
	if classHash(t, "instanceProfile: nodes", "role: others") == byName {
		t.Error("another role changes nothing")
	}
}

func TestHash_WhatMeansTheSameHasTheSameHash(t *testing.T) {
	same := func(name, a, b string) {
		t.Helper()
		if a != b {
			t.Errorf("%s: %s and %s", name, a, b)
		}
	}
	pool, class := poolHash(t, "", ""), classHash(t, "", "")
	same("order of taints", pool, poolHash(t, "[{key: a, value: x, effect: NoSchedule}, {key: b, effect: NoExecute}]", "[{key: b, effect: NoExecute}, {key: a, value: x, effect: NoSchedule}]"))
	same("form of a duration", pool, poolHash(t, "48h", "2880m"))
	same("an empty list", poolHash(t, "      startupTaints: [{key: cni, effect: NoSchedule}]\n", ""), poolHash(t, "[{key: cni, effect: NoSchedule}]", "[]"))
	same("default expiry", poolHash(t, "      expireAfter: 48h\n", ""), poolHash(t, "48h", "720h"))
	same("form of a size", class, classHash(t, "1Ti", "1024Gi"))
	same("default metadata options", classHash(t, "httpPutResponseHopLimit: 2", "httpPutResponseHopLimit: 1"),
		classHash(t, "  metadataOptions: {httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 2, httpTokens: required}\n", ""))
	same("no monitoring", classHash(t, "  detailedMonitoring: true\n", ""), classHash(t, "detailedMonitoring: true", "detailedMonitoring: false"))
	same("an empty object", classHash(t, "  kubelet: {maxPods: 110, podsPerCore: 10}\n", ""), classHash(t, "{maxPods: 110, podsPerCore: 10}", "{}"))
}

// A field that a later definition adds with a default is on every object at once: it
// must not replace every node.
func TestHash_EveryDefaultOfTheDefinitionsCountsAsAbsent(t *testing.T) {
	for _, c := range []struct {
		document []byte
		at       []string // of what is hashed
		hash     func(schema map[string]any) string
	}{
		{v1.CRDs()[poolCRD(t)], []string{"spec", "template"}, func(template map[string]any) string {
			return drift.PoolHash(into[v1.NodePool](t, map[string]any{"spec": map[string]any{"template": template}}))
		}},
		{awsv1.CRDs()[0], []string{"spec"}, func(spec map[string]any) string {
			return drift.ClassHash(into[awsv1.EC2NodeClass](t, map[string]any{"spec": spec}))
		}},
	} {
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal(c.document, &crd); err != nil {
			t.Fatal(err)
		}
		schema := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, field := range c.at {
			schema = schema.Properties[field]
		}
		defaults, _ := defaultsOf(t, schema).(map[string]any)
		if len(defaults) == 0 {
			t.Errorf("%s has no defaults: the test looks at the wrong place", crd.Name)
		}
		if got, want := c.hash(defaults), c.hash(nil); got != want {
			t.Errorf("%s: with defaults %s, without %s: add the default to the table in hash.go", crd.Name, got, want)
		}
	}
}

func poolCRD(t *testing.T) int {
	t.Helper()
	return slices.IndexFunc(v1.CRDs(), func(d []byte) bool { return strings.Contains(string(d), "kind: NodePool\n") })
}

func into[T any](t *testing.T, object any) *T {
	t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// defaultsOf is the object that has nothing but the schema's defaults.
func defaultsOf(t *testing.T, schema apiextensions.JSONSchemaProps) any {
	t.Helper()
	if schema.Default != nil {
		var value any
		if err := yaml.Unmarshal(schema.Default.Raw, &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	if schema.Items != nil {
		if value := defaultsOf(t, *schema.Items.Schema); value != nil {
			return []any{value}
		}
		return nil
	}
	out := map[string]any{}
	for name := range schema.Properties {
		if value := defaultsOf(t, schema.Properties[name]); value != nil {
			out[name] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
