package legacy_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

const (
	aClass = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
	aPool  = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [{key: x, operator: Exists}], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: b}}}}\n"

	jsonClass = `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "b"}, "spec": {"role": "r"}}`
	jsonPool  = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": {"name": "b"}}}}}`
)

func windows(order binary.AppendByteOrder, text string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// TestDocuments_AreReadAsPeopleKeepThem has a class and a pool in each form in which files have
// them: all are read, and nothing is said.
func TestDocuments_AreReadAsPeopleKeepThem(t *testing.T) {
	both := aClass + "---\n" + aPool
	for name, text := range map[string]string{
		"comments and nothing between marks":    "# a\n---\n# b\n--- # c\n" + aClass + "---\n\n---\n" + aPool + "---\n",
		"a directive":                           "%YAML 1.1\n---\n" + aClass + "---\n" + aPool,
		"ends of documents":                     aClass + "...\n" + aPool + "...\n",
		"an end and a begin":                    aClass + "...\n---\n" + aPool,
		"lines of Windows":                      strings.ReplaceAll(both, "\n", "\r\n"),
		"a mark of the byte order":              "\ufeff" + both,
		"such a mark in each of joined files":   "\ufeff" + aClass + "---\n\ufeff" + aPool,
		"UTF-16 of a shell of Windows":          windows(binary.LittleEndian, strings.ReplaceAll(both, "\n", "\r\n")),
		"UTF-16, the other way round":           windows(binary.BigEndian, both),
		"a List":                                "apiVersion: v1\nkind: List\nitems:\n-\n" + indented(aClass) + "-\n" + indented(aPool),
		"a List in a List":                      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  -\n" + indented(indented(aClass)) + "-\n" + indented(aPool),
		"a list of objects":                     "-\n" + indented(aClass) + "-\n" + indented(aPool),
		"a List of each kind without its kinds": "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClassList\nitems: [{metadata: {name: b}, spec: {role: r}}]\n---\napiVersion: karpenter.sh/v1\nkind: NodePoolList\nmetadata: {resourceVersion: ''}\nitems: [{metadata: {name: a}, spec: {template: {spec: {requirements: [], nodeClassRef: {name: b}}}}}]\n",
		"JSON":                                  `{"apiVersion": "v1", "kind": "List", "items": [` + jsonClass + ", " + jsonPool + "]}",
		"objects in JSON, a line each":          jsonClass + "\n" + jsonPool + "\n",
		"objects in JSON, indented by tabs":     strings.ReplaceAll(jsonClass, " ", "\n\t") + strings.ReplaceAll(jsonPool, " ", "\n\t"),
		"a list in a list":                      "[" + jsonClass + ", [" + jsonPool + "]]",
		"a list after an object":                jsonClass + "\n[" + jsonPool + "]\n",
		"an array in JSON":                      "[" + jsonClass + ",\n\t" + jsonPool + "]",
		"anchors and merged maps":               "x-terms: &terms [{tags: {a: b}}]\n---\n" + strings.Replace(aClass, "subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]", "subnetSelectorTerms: &one [{tags: &tags {a: b}}], securityGroupSelectorTerms: *one, tags: {<<: *tags, a: c}", 1) + "---\n" + aPool,
		"what programs write that make YAML":    strings.Replace(both, "metadata: {name: a}", "metadata: {name: a, creationTimestamp: null}", 1) + "status: {}\n",
		"quotes and a final newline that lacks": strings.TrimRight(strings.Replace(both, "kind: NodePool", `"kind": 'NodePool'`, 1), "\n"),
		"control characters that YAML takes":    strings.Replace(both, "role: r", `role: "r\u200b"`, 1),
		"variables of envsubst":                 strings.NewReplacer("role: r", "role: node-$CLUSTER_NAME", "spec: {template", "spec: {weight: $WEIGHT, limits: {cpu: $CPUS}, template").Replace(both),
	} {
		t.Run(name, func(t *testing.T) {
			result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: text}}, legacy.Options{})
			all, err := result.Manifests()
			var kinds []string
			for _, m := range all {
				kinds = append(kinds, m.Kind+" "+m.Name)
			}
			if got := strings.Join(kinds, ", "); err != nil || got != "EC2NodeClass b, NodePool a" {
				t.Errorf("%v, got %s; errors %v", err, got, result.Errors)
			}
			if len(result.Errors)+len(result.Warnings) > 0 {
				t.Error(result.Errors, result.Warnings)
			}
		})
	}
}

// TestDocuments_WhatIsOddIsSaid has what kubectl takes and people would not want, and what it does
// not take.
func TestDocuments_WhatIsOddIsSaid(t *testing.T) {
	for name, x := range map[string]struct {
		text, warning, err string
		warnings           []string // if there is more than one
	}{
		"a key twice":                        {text: "# one\n" + aPool + "---\n" + strings.Replace(aClass, "spec: {", "spec: {role: other,\n  ", 1), warning: `in.yaml: EC2NodeClass "b": the last one counts of keys that are there twice: line 11: key "role" already set in map; remove the others`},
		"a key twice elsewhere":              {text: aClass + "---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {}\nspec: {}\n"},
		"a key twice beside a here document": {text: aPool + "---\n" + strings.Replace(aClass, "spec: {", "spec: {userData: \"cat <<EOF\", role: other,\n  ", 1), warning: `key "role" already set in map`},
		"keys twice in a list":               {text: "- " + strings.Replace(jsonClass, `"role"`, `"role": "x", "role": "y", "role"`, 1) + "\n- " + jsonPool + "\n", warning: `in.yaml: document 1: the last one counts of keys that are there twice: line 1: key "role" already set in map; line 1: key "role" already set in map; remove the others`},
		"settings twice in values":           {text: "settings: {clusterName: c}\nsettings: {interruptionQueue: c}\n", warnings: []string{"the daemon has these settings", `in.yaml: document 1: the last one counts of keys that are there twice: line 2: key "settings" already set in map; remove the others`}},
		"settings twice in values as text":   {text: "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec: {source: {chart: karpenter, helm: {values: \"settings: {clusterName: c}\\nsettings: {clusterName: d}\"}}}\n", warnings: []string{`in.yaml: Application "x": helm.values: the last one counts of keys that are there twice: line 2: key "settings" already set in map; remove the others`, "the daemon has these settings"}},
		"the ConfigMap of the settings":      {text: settings("aws.clusterName: a", "aws.clusterName: a"), warnings: []string{`key "aws.clusterName" already set in map`, "the daemon has these settings"}},
		"Latin-1 in JSON":                    {text: strings.Replace(jsonClass, `"r"`, "\"r\xfc\"", 1), err: "in.yaml: document 1: no YAML, as line 1 is not in UTF-8; save the file as UTF-8"},
		"ids in the order of the fields":     {text: strings.NewReplacer("{id: subnet-1}", `{id: "s-1,s-2"}`, "{id: sg-1}", `{id: "sg-1,sg-2"}`).Replace(aClass), warnings: []string{"subnetSelectorTerms", "securityGroupSelectorTerms"}},
		"a typo in the kind of the class":    {text: nodePoolOf("ECNodeClass"), warning: "is not in the input", err: "write EC2NodeClass"},
		"a case in the kind of the class":    {text: nodePoolOf("Ec2NodeClass"), warning: "is not in the input", err: "write EC2NodeClass"},
		"gates of a template":                {text: "settings: {clusterName: c}\ncontroller: {env: [{name: FEATURE_GATES, value: '${gates}'}]}\n", warnings: []string{"controller.env[FEATURE_GATES]: is not read, as its value is elsewhere", "the daemon has these settings"}},
		"Latin-1":                            {text: aClass + "---\n# K\xfcche\n" + aPool, err: `in.yaml: document 2: no YAML, as line 6 is not in UTF-8; save the file as UTF-8`},
		"tabs":                               {text: strings.Replace(aPool, "spec: {", "spec:\n\tlimits: {cpu: 1}\n\tx: {", 1), err: "indent with spaces, as YAML takes no tabs"},
		"several ids in one":                 {text: strings.Replace(aClass, "{id: sg-1}", `{id: "sg-1,sg-2"}`, 1), warning: `in.yaml: EC2NodeClass "b": spec.securityGroupSelectorTerms[0].id: "sg-1,sg-2" is no id and selects nothing; write one id, and a term for each`},
		"an ARN of a profile":                {text: strings.Replace(aClass, "role: r", "instanceProfile: 'arn:aws:iam::111122223333:instance-profile/x/nodes'", 1), warning: `in.yaml: EC2NodeClass "b": spec.instanceProfile: arn:aws:iam::111122223333:instance-profile/x/nodes is an ARN, and EC2 is told a name: nothing can be launched; write nodes`},
		"an ARN of a role":                   {text: strings.Replace(aClass, "role: r", "role: 'arn:aws:iam::111122223333:role/x/nodes'", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: x.text}}, legacy.Options{})
			check := func(want string, got []legacy.Problem) {
				t.Helper()
				switch {
				case want == "" && len(got) > 0, want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), want)):
					t.Errorf("got %v, want %q", got, want)
				}
			}
			check(x.err, result.Errors)
			if x.warnings == nil {
				check(x.warning, result.Warnings)
				return
			}
			if len(result.Warnings) != len(x.warnings) {
				t.Fatalf("got %v, want %q", result.Warnings, x.warnings)
			}
			for i, want := range x.warnings {
				check(want, result.Warnings[i:i+1])
			}
		})
	}
}

// nodePoolOf refers to a class of this kind.
func nodePoolOf(kind string) string {
	return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: b, kind: " + kind + "}}}, disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, expireAfter: Never}}\n"
}

func TestConvert_VariablesSideBySideAreTemplates(t *testing.T) {
	text := strings.Replace(aClass, "role: r", "role: $A$B$C", 1)
	if out, _ := legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{}).HCL("x"); !strings.Contains(out, "${var.A}${var.B}${var.C}") {
		t.Error(out)
	}
}

func TestDocuments_WhatIsNoObjectInAListIsNamed(t *testing.T) {
	for _, text := range []string{"[" + jsonPool + ", [\"x\", " + jsonClass + "], null]", jsonPool + "\n[\"x\", " + jsonClass + "]\n"} {
		result := legacy.Convert([]legacy.Source{{Name: "in.json", Text: text}}, legacy.Options{})
		all, err := result.Manifests()
		if err != nil || len(all) != 2 || len(result.Errors) > 0 {
			t.Errorf("%v, %v, %v", all, err, result.Errors)
		}
		if len(result.Others) != 1 || result.Others[0] != "in.json: item [1][0] of document 1 is not of Karpenter" {
			t.Error(result.Others)
		}
	}
}

// TestConvert_ManifestsInsideOfOtherObjectsAreNotLostWithoutAWord has the ways in which other tools
// carry manifests.
func TestConvert_ManifestsInsideOfOtherObjectsAreNotLostWithoutAWord(t *testing.T) {
	const pool = `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {}}}`
	const text = `"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\n"`
	for name, x := range map[string]struct{ text, at string }{
		"values of a chart":     {"extraObjects: [" + pool + "]", "extraObjects[0]"},
		"values as text":        {"extraManifests: [" + text + "]", "extraManifests[0]"},
		"Argo CD":               {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec: {source: {chart: raw, helm: {values: 'resources: [" + pool + "]'}}}", "spec.source.helm.values"},
		"Argo CD beside values": {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec: {source: {chart: karpenter, helm: {valuesObject: {settings: {clusterName: c}, extraObjects: [" + pool + "]}}}}", "spec.source.helm.valuesObject.extraObjects[0]"},
		"Flux":                  {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x}\nspec: {values: {resources: [" + pool + "]}}", "spec.values.resources[0]"},
		"Crossplane":            {"apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata: {name: x}\nspec: {forProvider: {manifest: " + pool + "}}", "spec.forProvider.manifest"},
		"kro":                   {"apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: x}\nspec: {resources: [{id: p, template: " + pool + "}]}", "spec.resources[0].template"},
		"a ConfigMap":           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {pool.yaml: " + text + "}", "data.pool.yaml"},
		"CDK":                   {`Resources: {P: {Type: 'Custom::AWSCDK-EKS-KubernetesResource', Properties: {Manifest: '[{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"},"spec":{}}]'}}}`, "Resources.P.Properties.Manifest"},
		"CDK with parts":        {`Resources: {P: {Properties: {Manifest: {'Fn::Join': ['', ['[{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{"x":"', {Ref: C}, '"}}]']]}}}}`, "Resources.P.Properties.Manifest.Fn::Join[1][0]"},
		"kustomize":             {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches: [{patch: " + text + "}]", "patches[0].patch"},
	} {
		t.Run(name, func(t *testing.T) {
			result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: x.text + "\n---\n" + aClass}}, legacy.Options{})
			var said []string
			for _, p := range result.Warnings {
				if p.Lost {
					said = append(said, p.Field)
				}
			}
			if len(said) != 1 || said[0] != x.at || len(result.Errors)+len(result.Others) > 0 {
				t.Errorf("said %q, want %q; errors %v, others %v", said, x.at, result.Errors, result.Others)
			}
		})
	}
	for name, quiet := range map[string]string{
		"an owner":      "apiVersion: v1\nkind: Node\nmetadata: {name: n, ownerReferences: [{apiVersion: karpenter.sh/v1, kind: NodeClaim, name: x, uid: u}]}",
		"a target":      "apiVersion: v1\nkind: Event\nmetadata: {name: n}\ninvolvedObject: {apiVersion: karpenter.sh/v1, kind: NodePool, name: x}",
		"a definition":  "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {description: " + text + "}",
		"an annotation": "apiVersion: v1\nkind: Service\nmetadata: {name: n, annotations: {x: " + text + "}}",
	} {
		result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: quiet + "\n---\n" + aClass}}, legacy.Options{})
		if len(result.Errors)+len(result.Warnings) > 0 || len(result.Others) != 1 {
			t.Errorf("%s: %v, %v, %v", name, result.Errors, result.Warnings, result.Others)
		}
	}
}

// What has an error is not missing.
func TestConvert_AnObjectWithAnErrorIsNotCalledMissing(t *testing.T) {
	for name, class := range map[string]string{
		"a field that does not exist": "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}, instanceProfile: p, nothing: {}}\n",
		"a launch template":           "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: b}, launchTemplate: x}\n",
		"another version":             "apiVersion: karpenter.k8s.aws/v1alpha2\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: b}}\n",
	} {
		text := class + "---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {providerRef: {name: b}, kubeletConfiguration: {maxPods: 10}}\n"
		result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: text}}, legacy.Options{})
		if len(result.Errors) != 1 || !strings.Contains(result.Errors[0].Object, "AWSNodeTemplate") {
			t.Errorf("%s: %v", name, result.Errors)
		}
		for _, w := range result.Warnings {
			if strings.Contains(w.What, "is not in the input") {
				t.Errorf("%s: %v", name, w)
			}
		}
	}
}

// A field of an older version in an object of v1 has the remedy of v1.
func TestHCL_FieldsOfOlderVersionsInV1HaveTheRemedyOfV1(t *testing.T) {
	const ref = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: b}"
	for field, x := range map[string]struct{ spec, remedy string }{
		"spec.template.spec.kubeletConfiguration":    {"template: {spec: {requirements: [], kubeletConfiguration: {maxPods: 5}, " + ref + "}}", "a field of v1alpha5, and is left out; write spec.kubelet of the EC2NodeClass"},
		"spec.template.spec.kubelet":                 {"template: {spec: {requirements: [], kubelet: {maxPods: 5}, " + ref + "}}", "a field of v1beta1, and is left out; write spec.kubelet of the EC2NodeClass"},
		"spec.template.spec.limits":                  {"template: {spec: {requirements: [], limits: {cpu: 5}, " + ref + "}}", "no such field here, and is left out; move it to spec.limits"},
		"spec.disruption.expireAfter":                {"disruption: {expireAfter: 1h}, template: {spec: {requirements: [], " + ref + "}}", "a field of v1beta1, and is left out; write spec.template.spec.expireAfter"},
		"spec.ttlSecondsAfterEmpty":                  {"ttlSecondsAfterEmpty: 30, template: {spec: {requirements: [], " + ref + "}}", "a field of v1alpha5, and is left out; write spec.disruption.consolidateAfter"},
		"spec.template.spec.nodeClassRef.apiVersion": {"template: {spec: {requirements: [], nodeClassRef: {apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, name: b}}}", "a field of v1beta1, and is left out; write group: karpenter.k8s.aws"},
	} {
		text := "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {" + x.spec + "}\n"
		_, warnings := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: text}}, legacy.Options{}).HCL("")
		if want := `in.yaml: NodePool "a": ` + field + ": " + x.remedy; len(warnings) != 1 || warnings[0].String() != want {
			t.Errorf("got %v, want %s", warnings, want)
		}
	}
}

// Other clouds have pools, too, and definitions and charts name kinds of Karpenter.
func TestConvert_WhatIsOfOthersStopsNothing(t *testing.T) {
	for name, x := range map[string]struct{ text, warning string }{
		"a pool of another cloud":           {"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: az}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: d, kind: AKSNodeClass}}}}\n", "AKSNodeClass is not of this provider"},
		"a pool whose kind is near to ours": {"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: al}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: d, kind: ECSNodeClass}}}}\n", "ECSNodeClass is not of this provider"},
		"a definition of a chart":           {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x\n  {{- with .Values.y }}\nspec:\n  names:\n    kind: EC2NodeClass\n", ""},
		"a policy of a chart":               {"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  x: {{ .Values.y }}\n  target:\n    apiVersion: karpenter.sh/v1\n    kind: NodePool\n", ""},
	} {
		result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: x.text + "---\n" + aClass}}, legacy.Options{})
		if all, err := result.Manifests(); err != nil || len(all) != 1 || len(result.Errors) > 0 {
			t.Errorf("%s: %v, %v, %v", name, all, err, result.Errors)
		}
		if said := len(result.Warnings); x.warning == "" && said > 0 || x.warning != "" && (said != 1 || !strings.Contains(result.Warnings[0].What, x.warning)) {
			t.Errorf("%s: %v", name, result.Warnings)
		}
	}
}

// group in the reference to a class says of v1beta1 what v1beta1 means anyway.
func TestConvert_TheGroupOfAClassInV1beta1IsNoError(t *testing.T) {
	pool := func(group string) string {
		return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {group: " + group + ", kind: EC2NodeClass, name: b}}}, disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}}\n"
	}
	if result := legacy.Convert([]legacy.Source{{Text: pool("karpenter.k8s.aws")}}, legacy.Options{}); len(result.Errors) > 0 {
		t.Error(result.Errors)
	}
	if result := legacy.Convert([]legacy.Source{{Text: pool("eks.amazonaws.com")}}, legacy.Options{}); len(result.Errors) != 1 || result.Errors[0].Field != "spec.template.spec.nodeClassRef.group" {
		t.Error(result.Errors)
	}
}
