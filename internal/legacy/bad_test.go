package legacy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// provisioner is a Provisioner with more lines under spec.
func provisioner(lines ...string) string {
	return "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec:\n  providerRef: {name: b}\n  " + strings.Join(lines, "\n  ")
}

// template is an AWSNodeTemplate with more lines under spec, which replace those of the
// same field.
func template(lines ...string) string {
	all := []string{"subnetSelector: {a: b}", "securityGroupSelector: {a: b}", "instanceProfile: p"}
	for _, line := range lines {
		field, _, _ := strings.Cut(line, ":")
		all = slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, field+":") })
	}
	return "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec:\n  " + strings.Join(append(all, lines...), "\n  ")
}

func nodePool(lines ...string) string {
	return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template: {spec: {requirements: [], nodeClassRef: {name: b}}}\n  " + strings.Join(lines, "\n  ")
}

func nodeClass(lines ...string) string {
	all := []string{"subnetSelectorTerms: [{id: subnet-1}]", "securityGroupSelectorTerms: [{id: sg-1}]", "role: r", "amiFamily: AL2"}
	for _, line := range lines {
		field, _, _ := strings.Cut(line, ":")
		all = slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, field+":") })
	}
	return "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec:\n  " + strings.Join(append(all, lines...), "\n  ")
}

func settings(lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter-global-settings}\ndata:\n  " + strings.Join(lines, "\n  ")
}

// TestConvert_BadInputGivesOneErrorWithARemedy gives each bad input its only error, which
// names the object, the field, what is wrong and the remedy.
func TestConvert_BadInputGivesOneErrorWithARemedy(t *testing.T) {
	for _, c := range slices.Concat(badDocuments(), badProvisioners(), badTemplates(), badTemplating(), badCurrent(), badLater()) {
		result := legacy.Convert([]legacy.Source{{Name: "in.yaml", Text: c.text}}, legacy.Options{})
		var got []string
		for _, p := range result.Errors {
			got = append(got, p.String())
		}
		if want := "in.yaml: " + c.want; len(got) != 1 || got[0] != want {
			t.Errorf("%s\n got %s\nwant %s", c.text, strings.Join(got, "\n     "), want)
		}
	}
}

type badInput struct{ text, want string }

func badDocuments() []badInput {
	return []badInput{
		{"a: b\n---\napiVersion: karpenter.sh/v1\na: [", `document 2: no YAML: line 4: did not find expected node content; correct the indentation and the quotes there`},
		{"kind: a\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {{ toYaml .Values.x }}", `document 2: no YAML, as line 5 is a template of Helm: spec: {{ toYaml .Values.x }}; render it first with helm template`},
		{"{{- if .Values.x }}\napiVersion: {{ .Values.v }}\nkind: EC2NodeClass\n{{- end }}", `document 1: no YAML, as line 1 is a template of Helm: {{- if .Values.x }}; render it first with helm template`},
		{"apiVersion: karpenter.sh/v1\n%{ for x in y }\nkind: NodePool", `document 1: no YAML: line 2: could not find expected directive name; render it first with the function templatefile of Terraform`},
		{"apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  values: [${join(\",\", var.x)}]", `document 1: no YAML: line 4: found unexpected end of stream; write a list that a template makes as ${jsonencode(["a", "b"])}, without brackets around it`},
		{"kind: Provisioner\nmetadata: {name: a}", `Provisioner "a": apiVersion: missing; write apiVersion: karpenter.sh/v1alpha5`},
		{"apiVersion: karpenter.sh/v1alpha5\nmetadata: {name: a}", `document 1: kind: missing; write the kind of the object, such as kind: Provisioner`},
		{"Revision: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}", `Provisioner "a": Revision: stands in place of apiVersion; write apiVersion: karpenter.sh/v1alpha5`},
		{"ApiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}", `Provisioner "a": ApiVersion: stands in place of apiVersion; write apiVersion: karpenter.sh/v1alpha5`},
		{"apiVersion: karpenter.sh/v1alpha5\nKind: Provisioner\nmetadata: {name: a}", `document 1: Kind: no such field, as letters must match in case; write kind`},
		{"apiVersion: v1alpha5\nkind: Provisioner\nmetadata: {name: a}", `Provisioner "a": apiVersion: v1alpha5 lacks the group of the API; write apiVersion: karpenter.sh/v1alpha5`},
		{"apiVersion: karpenter.sh/v0.27.3\nkind: Provisioner\nmetadata: {name: a}", `Provisioner "a": apiVersion: v0.27.3 is a release of Karpenter, not a version of its API; write apiVersion: karpenter.sh/v1alpha5`},
		{"apiVersion: karpenter.sh/v1alpha4\nkind: Provisioner\nmetadata: {name: a}", `Provisioner "a": apiVersion: v1alpha4 is older than what can be converted; bring the manifest to v1alpha5 first: in spec, constraints on nodes are requirements, and settings of AWS are under provider`},
		{"apiVersion: karpenter.sh/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}", `AWSNodeTemplate "a": apiVersion: the group of this kind is karpenter.k8s.aws, not karpenter.sh; write apiVersion: karpenter.k8s.aws/v1alpha1`},
		{"apiVersion: karpenter.sh/v1beta2\nkind: NodePool\nmetadata: {name: a}", `NodePool "a": apiVersion: karpenter.sh/v1beta2 is no version of this kind; write apiVersion: karpenter.sh/v1beta1 or karpenter.sh/v1`},
		{"apiVersion: karpenter.sh/v1alpha5\nkind: provisioner\nmetadata: {name: a}", `provisioner "a": kind: no kind of Karpenter; write kind: Provisioner`},
		{"apiVersion: karpenter.sh/v1alpha5\nkind: ProvisionerList\nitems: [x]", `document 1: items[0]: no object, but the text "x"; write a Kubernetes manifest with apiVersion, kind, metadata and spec`},
		{"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {}\nspec: {providerRef: {name: b}}", `document 1: metadata.name: missing; write the name of the object`},
	}
}

func badProvisioners() []badInput {
	return []badInput{
		{provisioner("label: {a: b}"), `Provisioner "a": spec.label: no such field; write spec.labels`},
		{provisioner("limits: {cpu: 100}"), `Provisioner "a": spec.limits.cpu: no such field, so that the Provisioner has no limit at all; write spec.limits.resources.cpu`},
		{provisioner("Labels: {a: b}"), `Provisioner "a": spec.Labels: no such field, as letters must match in case; write spec.labels`},
		{provisioner("requirement: []"), `Provisioner "a": spec.requirement: no such field; write spec.requirements`},
		{provisioner("amiFamily: AL2"), `Provisioner "a": spec.amiFamily: a field of AWSNodeTemplate; move it to the AWSNodeTemplate that spec.providerRef names, or to spec.provider`},
		{provisioner("instanceTypes: [m5.large]"), `Provisioner "a": spec.instanceTypes: a field of v1alpha3 and older; write a requirement on node.kubernetes.io/instance-type in spec.requirements`},
		{provisioner("disruption: {}"), `Provisioner "a": spec.disruption: a field of NodePool; write spec.consolidation, spec.ttlSecondsAfterEmpty and spec.ttlSecondsUntilExpired`},
		{provisioner("enabled: true"), `Provisioner "a": spec.enabled: no such field here; move it to spec.consolidation.enabled`},
		{provisioner("wholly: 1"), `Provisioner "a": spec.wholly: no such field; remove it, or write one of annotations, consolidation, kubeletConfiguration, labels, limits, provider, providerRef, requirements, startupTaints, taints, ttlSecondsAfterEmpty, ttlSecondsUntilExpired, weight`},
		{provisioner("labels: {a: true}"), `Provisioner "a": spec.labels[a]: the truth value true, which must be text; put it in quotes`},
		{provisioner("labels: [a]"), `Provisioner "a": spec.labels: a list, which must be a map; write its entries as key: value`},
		{provisioner("ttlSecondsAfterEmpty: 30s"), `Provisioner "a": spec.ttlSecondsAfterEmpty: the text "30s", which must be a whole number; write it without quotes, unit or point`},
		{provisioner("ttlSecondsAfterEmpty: -1"), `Provisioner "a": spec.ttlSecondsAfterEmpty: -1 is less than 0; write the seconds that a node may be empty`},
		{provisioner("ttlSecondsAfterEmpty: 30", "consolidation: {enabled: true}"), `Provisioner "a": spec.ttlSecondsAfterEmpty: set together with spec.consolidation.enabled; remove one of the two, as consolidation removes empty nodes, too`},
		{provisioner("consolidation: {enabled: 'yes'}"), `Provisioner "a": spec.consolidation.enabled: the text "yes", which must be true or false; write it without quotes`},
		{provisioner("consolidation: {enabled: '${var.x}'}"), `Provisioner "a": spec.consolidation.enabled: a template, whose value decides what the NodePool is; write true or false`},
		{provisioner("ttlSecondsUntilExpired: 0"), `Provisioner "a": spec.ttlSecondsUntilExpired: 0 would expire each node at once; write the seconds that a node may live, such as 2592000, or remove the field`},
		{provisioner("weight: 101"), `Provisioner "a": spec.weight: 101 is not from 1 to 100; write a weight from 1 to 100, or remove the field`},
		{provisioner("limits: {resources: {cpu: many}}"), `Provisioner "a": spec.limits.resources[cpu]: the text "many", which must be a quantity; write one such as 500m, 4 or 16Gi`},
		{provisioner("requirements: [{key: a, operator: in, values: [b]}]"), `Provisioner "a": spec.requirements[0].operator: "in" is no operator; write In, NotIn, Exists, DoesNotExist, Gt or Lt`},
		{provisioner("requirements: [{key: a, operator: In}]"), `Provisioner "a": spec.requirements[0].values: operator In without values; add values, or remove the requirement`},
		{provisioner("requirements: [{key: a, operator: Exists, values: [b]}]"), `Provisioner "a": spec.requirements[0].values: operator Exists with values; remove the values, or write operator In`},
		{provisioner("requirements: [{key: a, operator: Gt, values: [b]}]"), `Provisioner "a": spec.requirements[0].values: operator Gt with other than one whole number; write one such as ["4"]`},
		{provisioner("requirements: [{operator: Exists}]"), `Provisioner "a": spec.requirements[0].key: missing; write the key of a label, such as karpenter.sh/capacity-type`},
		{provisioner("requirements: [{key: node.k8s.aws/instance, operator: Exists}]"), `Provisioner "a": spec.requirements[0].key: node.k8s.aws/instance is a key of v1alpha2 and older, and no node has it; remove the requirement, or write the key of today, such as node.kubernetes.io/instance-type`},
		{provisioner("labels: {karpenter.sh/a: x, karpenter.k8s.aws/a: z}"), `Provisioner "a": spec.labels[karpenter.sh/a]: karpenter.k8s.aws/a and karpenter.sh/a would both become a, as v1 allows no own keys in these domains; rename one of them in the input and in the pods that select it`},
		{provisioner("labels: {karpenter.sh/a: x, a: z}"), `Provisioner "a": spec.labels[karpenter.sh/a]: becomes a, which the labels have already; remove one of the two`},
		{provisioner("taints: [{key: a}]"), `Provisioner "a": spec.taints[0].effect: "" is no effect; write NoSchedule, PreferNoSchedule or NoExecute`},
		{provisioner("labels: {a: 'not a value'}"), `Provisioner "a": spec.labels[a]: "not a value" is no value of a label; write at most 63 letters, digits, -, _ and .`},
		{provisioner("labels: {a b: x}"), `Provisioner "a": spec.labels[a b]: "a b" is no key of a label; write letters, digits, -, _ and . after a domain, such as example.com/team`},
		{provisioner("requirements: [{key: a, operator: In, values: ['b,c']}]"), `Provisioner "a": spec.requirements[0]: "b,c" is no value of a label; write at most 63 letters, digits, -, _ and .`},
		{provisioner("kubeletConfiguration: {kubeReserved: {gpu: 1}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.kubeReserved[gpu]: no such key; write one of cpu, memory, ephemeral-storage, pid`},
		{provisioner("provider: {}"), `Provisioner "a": spec.provider: set together with spec.providerRef; remove one of the two`},
		{strings.Replace(provisioner(), "name: b", "name: ''", 1), `Provisioner "a": spec.providerRef.name: missing; write the name of the AWSNodeTemplate`},
		{strings.Replace(provisioner(), "name: b", "name: b, kind: EC2NodeClass", 1), `Provisioner "a": spec.providerRef.kind: "EC2NodeClass" is no kind that a Provisioner refers to; write AWSNodeTemplate, or remove it`},
		{strings.Replace(provisioner(), "name: b", "name: b, apiVersion: v1", 1), `Provisioner "a": spec.providerRef.apiVersion: "v1" is not the version of AWSNodeTemplate; write karpenter.k8s.aws/v1alpha1, or remove it`},
		{strings.Replace(provisioner(), "providerRef: {name: b}", "weight: 1", 1), `Provisioner "a": spec.providerRef: missing, and spec.provider, too; name an AWSNodeTemplate in spec.providerRef.name`},
		{provisioner("kubeletConfiguration: {maxPods: 10}"), `Provisioner "a": spec.kubeletConfiguration: v1 has it in the EC2NodeClass "b", which is not in the input; convert what the NodePool refers to together with it`},
		{provisioner("kubeletConfiguration: {evictionSoft: {memory.available: 5%}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.evictionSoft: memory.available has no evictionSoftGracePeriod; add memory.available to evictionSoftGracePeriod`},
		{provisioner("kubeletConfiguration: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.imageGCHighThresholdPercent: 50 is not above imageGCLowThresholdPercent, 60; raise it, or lower imageGCLowThresholdPercent`},
		{provisioner("kubeletConfiguration: {maxPods: -1}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.maxPods: -1 is not between 0 and 2147483647; correct it, or remove it`},
		{provisioner("kubeletConfiguration: {podsPerCore: -1}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.podsPerCore: -1 is not between 0 and 2147483647; correct it, or remove it`},
		{provisioner("kubeletConfiguration: {imageGCHighThresholdPercent: 101}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.imageGCHighThresholdPercent: 101 is not between 0 and 100; correct it, or remove it`},
		{provisioner("kubeletConfiguration: {imageGCLowThresholdPercent: -1}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.imageGCLowThresholdPercent: -1 is not between 0 and 100; correct it, or remove it`},
		{provisioner("kubeletConfiguration: {kubeReserved: {cpu: '-1'}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.kubeReserved[cpu]: "-1" is no amount; write one such as 100m or 1Gi`},
		{provisioner("kubeletConfiguration: {systemReserved: {memory: -1Gi}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.systemReserved[memory]: "-1Gi" is no amount; write one such as 100m or 1Gi`},
		{provisioner("kubeletConfiguration: {evictionHard: {memory.available: 101%}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.evictionHard[memory.available]: "101%" is no share; write one between 0% and 100%`},
		{provisioner("kubeletConfiguration: {evictionHard: {memory.available: much}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.evictionHard[memory.available]: "much" is no amount; write one such as 100m or 1Gi`},
		{provisioner("kubeletConfiguration: {evictionSoft: {memory.available: -1%}, evictionSoftGracePeriod: {memory.available: 1m}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.evictionSoft[memory.available]: "-1%" is no share; write one between 0% and 100%`},
		{provisioner("kubeletConfiguration: {evictionSoft: {memory.available: 1%}, evictionSoftGracePeriod: {memory.available: long}}") + "\n---\n" + template(), `Provisioner "a": spec.kubeletConfiguration.evictionSoftGracePeriod[memory.available]: "long" is no time; write one such as 1m30s`},
	}
}

func badTemplates() []badInput {
	return []badInput{
		{template("launchTemplate: x"), `AWSNodeTemplate "b": spec.launchTemplate: v1 takes no launch template; read the launch template, write its image as amiSelector with amiFamily: Custom, its user data, security groups, instance profile and volumes as userData, securityGroupSelector, instanceProfile and blockDeviceMappings, and remove this field`},
		{template("subnetSelector: {}"), `AWSNodeTemplate "b": spec.subnetSelector: missing; write tags to select by, such as karpenter.sh/discovery`},
		{template("subnetSelector: {a: ''}"), `AWSNodeTemplate "b": spec.subnetSelector[a]: an empty key or value selects nothing; write a value, or * for any`},
		{template("subnetSelector: {aws-ids: i-1}"), `AWSNodeTemplate "b": spec.subnetSelector: "i-1" is no id; write ids such as subnet-0123456789abcdef0, separated by commas`},
		{template("subnetSelector: {aws-ids: subnet-1, a: b}"), `AWSNodeTemplate "b": spec.subnetSelector: ids together with tags mean what has both, and a term of v1 has one of the two; leave only the ids, or only the tags`},
		{template("subnetSelector: {aws-ids: subnet-1, 'aws::ids': subnet-2}"), `AWSNodeTemplate "b": spec.subnetSelector[aws::ids]: set together with aws-ids; write all ids under aws::ids`},
		{template("securityGroupSelector: {'aws::name': x}"), `AWSNodeTemplate "b": spec.securityGroupSelector[aws::name]: no key of this selector; write aws::ids, or the key of a tag`},
		{template("amiSelector: {'aws::owners': self}"), `AWSNodeTemplate "b": spec.amiSelector: owners alone select nothing in v1; add aws::name or tags`},
		{template("amiSelector: {a: '" + strings.Repeat("x,", 20) + "y'}"), `AWSNodeTemplate "b": spec.amiSelector: 42 terms would be needed, and v1 takes at most 30; select by a tag that all of them have`},
		{template("amiFamily: AL2023"), `AWSNodeTemplate "b": spec.amiFamily: "AL2023" is no family that can be converted; write AL2, Bottlerocket, Ubuntu, Windows2019, Windows2022 or Custom`},
		{template("amiFamily: Ubuntu"), `AWSNodeTemplate "b": spec.amiSelector: missing, and v1 does not know images of the family Ubuntu; select the images by id, name or tags`},
		{template("instanceProfile: ''"), `AWSNodeTemplate "b": spec.instanceProfile: missing, and v1 has no default; write the name of the instance profile, give --instance-profile or --role to karpenterd convert, or convert the ConfigMap karpenter-global-settings, which has the default, together with it`},
		{template("subnetSelectorTerms: []"), `AWSNodeTemplate "b": spec.subnetSelectorTerms: a field of EC2NodeClass; write spec.subnetSelector`},
		{template("requirements: []"), `AWSNodeTemplate "b": spec.requirements: a field of Provisioner; move it to the Provisioner`},
		{template("tags: {'': x}"), `AWSNodeTemplate "b": spec.tags: a tag without key; write its key, or remove it`},
		{template("blockDeviceMappings: [{ebs: {volumeSize: 20Gi}}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].deviceName: missing; write the name of the device, such as /dev/xvda`},
		{template("blockDeviceMappings: [{deviceName: x}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].ebs: missing; write the volume with its volumeSize`},
		{template("blockDeviceMappings: [{deviceName: x, ebs: {}}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].ebs.volumeSize: missing, and snapshotID, too; write a size such as 50Gi`},
		{template("blockDeviceMappings: [{deviceName: x, ebs: {volumeSize: 20}}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].ebs.volumeSize: 20 is less than 1G; write the unit, too, as in 20Gi`},
		{template("blockDeviceMappings: [{deviceName: x, ebs: {volumeSize: 70Ti}}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].ebs.volumeSize: 70Ti is more than v1 takes; write at most 59000Gi or 64T`},
		{template("blockDeviceMappings: [{deviceName: x, ebs: {volumeSize: 20Gi, volumeType: gp4}}]"), `AWSNodeTemplate "b": spec.blockDeviceMappings[0].ebs.volumeType: "gp4" is no value of this field; write gp3 or gp2 or io1 or io2 or st1 or sc1 or standard`},
		{template("metadataOptions: {httpTokens: Required}"), `AWSNodeTemplate "b": spec.metadataOptions.httpTokens: "Required" is no value of this field; write required or optional`},
		{template("metadataOptions: {httpPutResponseHopLimit: 65}"), `AWSNodeTemplate "b": spec.metadataOptions.httpPutResponseHopLimit: 65 is not from 1 to 64; write a number from 1 to 64`},
		{template() + "\n---\n" + template("context: c"), `AWSNodeTemplate "b": metadata.name: AWSNodeTemplate "b" of in.yaml would become an EC2NodeClass of the same name; rename one of the two and what refers to it`},
	}
}

// badTemplating has templates in places where a conversion has to know what they stand for.
func badTemplating() []badInput {
	return []badInput{
		{provisioner("requirements: ${jsonencode(var.x)}"), `Provisioner "a": spec.requirements: a template for all of it, and which defaults v1alpha5 adds depends on its keys; write the list, each requirement with templates of its own, such as values: ${jsonencode(var.values)}`},
		{template("subnetSelector: ${jsonencode(var.x)}"), `AWSNodeTemplate "b": spec.subnetSelector: a template for all of it, and its keys decide what the terms are; write each key with a template of its own`},
		{template("amiSelector: ${jsonencode(var.x)}"), `AWSNodeTemplate "b": spec.amiSelector: a template for all of it, and its keys decide what the terms are; write each key with a template of its own`},
		{strings.TrimRight(settings(), "\n ") + " ${jsonencode(var.x)}", `ConfigMap "karpenter-global-settings": data: a template for all of it; write each setting with a template of its own`},
		{provisioner("kubeletConfiguration: ${jsonencode(var.x)}"), `Provisioner "a": spec.kubeletConfiguration: the text "${jsonencode(var.x)}", which must be a map; write its fields, each with a template of its own`},
		{nodePool("disruption: '{{ toYaml .Values.x }}'"), `NodePool "a": spec.disruption: the text "{{ toYaml .Values.x }}", which must be a map; render it first with helm template`},
		{nodeClass("tags: a${var.x}"), `EC2NodeClass "b": spec.tags: the text "a${var.x}", which must be a map; write its fields, each with a template of its own`},
		{nodeClass("subnetSelectorTerms: a${var.x}"), `EC2NodeClass "b": spec.subnetSelectorTerms: the text "a${var.x}", which must be a list; write a list, or one template for all of it, such as ${jsonencode(var.values)}`},
		{provisioner("labels: {\"\\0${x}\": y}"), `Provisioner "a": spec.labels[` + "\x00" + `${x}]: begins with a character that no key has; remove it`},
	}
}

// badCurrent has objects of v1 that no API server takes.
func badCurrent() []badInput {
	pool := func(lines string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template: {spec: {requirements: [], nodeClassRef: {name: b}}}\n  " + lines
	}
	class := func(lines string) string {
		return "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec:\n  " + lines
	}
	return []badInput{
		{pool("weight: many"), `NodePool "a": spec.weight: the text "many", which must be a whole number; write it without quotes, unit or point`},
		{pool("limits: {resources: {cpu: 1}}"), `NodePool "a": spec.limits[resources]: a field of v1alpha5, so that the NodePool has no limit at all; write the resources under spec.limits, such as spec.limits.cpu`},
		{pool("weight: 1") + "\n---\n" + pool("weight: 2"), `NodePool "a": metadata.name: NodePool "a" of in.yaml has the same name; convert the objects of each cluster by themselves, or rename one of the two`},
		{class("role: a") + "\n---\n" + class("role: b"), `EC2NodeClass "b": metadata.name: EC2NodeClass "b" of in.yaml has the same name; convert the objects of each cluster by themselves, or rename one of the two`},
		{class("amiSelectorTerms: [{alias: al2@lates}]"), `EC2NodeClass "b": spec.amiSelectorTerms[0].alias: image alias "al2@lates": must be al2@latest or al2@v<release>, such as al2@v20241024`},
		{class("amiSelectorTerms: [{alias: al2024@latest}]"), `EC2NodeClass "b": spec.amiSelectorTerms[0].alias: image alias "al2024@latest": no such family: write al2023, bottlerocket or al2, as in al2023@latest`},
		{strings.Replace(pool("weight: 1"), "{name: a}", "{}", 1), `document 1: metadata.name: missing; write the name of the object`},
	}
}

func badLater() []badInput {
	return []badInput{
		{strings.Replace(nodePool(), "requirements: [],", "kubeletConfiguration: {maxPods: 5},", 1), `NodePool "a": spec.template.spec.kubeletConfiguration: a field of v1alpha5; write spec.template.spec.kubelet`},
		{strings.Replace(nodePool(), "requirements: [],", "ttlSecondsAfterEmpty: 5,", 1), `NodePool "a": spec.template.spec.ttlSecondsAfterEmpty: a field of v1alpha5; write spec.disruption.consolidateAfter`},
		{strings.Replace(nodePool(), "requirements: [],", "annotations: {a: b},", 1), `NodePool "a": spec.template.spec.annotations: no such field here; move it to spec.template.metadata.annotations`},
		{strings.Replace(nodePool(), "requirements: [],", "terminationGracePeriod: 1h,", 1), `NodePool "a": spec.template.spec.terminationGracePeriod: a field of v1; remove it, or write apiVersion: karpenter.sh/v1`},
		{nodePool("replicas: 1"), `NodePool "a": spec.replicas: a field of v1; write apiVersion: karpenter.sh/v1`},
		{nodeClass("kubeletConfiguration: {maxPods: 5}"), `EC2NodeClass "b": spec.kubeletConfiguration: a field of v1alpha5; write spec.template.spec.kubelet of the NodePool`},
		{nodeClass("amiSelectorTerms: [{alias: al2023@latest}]"), `EC2NodeClass "b": spec.amiSelectorTerms[0].alias: a field of v1; write amiFamily, or apiVersion: karpenter.k8s.aws/v1`},
		{"apiVersion: karpenter.sh/v1beta1\nkind: NodeClaim\nmetadata: {name: a}\nspec: {kubeletConfiguration: {maxPods: 5}, nodeClassRef: {name: b}}", `NodeClaim "a": spec.kubeletConfiguration: a field of v1alpha5; write spec.kubelet`},
		{template("kubelet: {maxPods: 5}"), `AWSNodeTemplate "b": spec.kubelet: a field of NodePool; write spec.kubeletConfiguration of the Provisioner`},
		{nodePool("limits: {resources: {cpu: 1}}"), `NodePool "a": spec.limits[resources]: a field of v1alpha5, so that the NodePool has no limit at all; write the resources under spec.limits, such as spec.limits.cpu`},
		{nodePool("requirements: []"), `NodePool "a": spec.requirements: no such field here; move it to spec.template.spec.requirements`},
		{nodePool("ttlSecondsUntilExpired: 1"), `NodePool "a": spec.ttlSecondsUntilExpired: a field of v1alpha5; write spec.disruption.expireAfter`},
		{nodePool("disruption: {consolidationPolicy: WhenEmpty}"), `NodePool "a": spec.disruption.consolidateAfter: missing, and consolidationPolicy WhenEmpty needs it; write how long a node may be empty, such as 30s`},
		{nodePool("disruption: {consolidationPolicy: WhenUnderutilized, consolidateAfter: 30s}"), `NodePool "a": spec.disruption.consolidateAfter: set together with consolidationPolicy WhenUnderutilized; remove it, or write WhenEmpty`},
		{nodePool("disruption: {consolidationPolicy: Sometimes}"), `NodePool "a": spec.disruption.consolidationPolicy: "Sometimes" is no policy; write WhenEmpty or WhenUnderutilized`},
		{strings.Replace(nodePool(), "{name: b}", "{}", 1), `NodePool "a": spec.template.spec.nodeClassRef.name: missing; write the name of the EC2NodeClass`},
		{strings.Replace(nodePool(), "{name: b}", "{name: b, kind: X}", 1), `NodePool "a": spec.template.spec.nodeClassRef.kind: "X" is no kind that a NodePool refers to; write EC2NodeClass`},
		{nodeClass("instanceProfile: p"), `EC2NodeClass "b": spec.role: set together with spec.instanceProfile; remove one of the two`},
		{nodeClass("role: ''"), `EC2NodeClass "b": spec.role: missing, and spec.instanceProfile, too; write the name of the role or of the instance profile`},
		{nodeClass("amiFamily: ''"), `EC2NodeClass "b": spec.amiFamily: missing, and spec.amiSelectorTerms, too; write the family, such as AL2023`},
		{nodeClass("amiFamily: Arch"), `EC2NodeClass "b": spec.amiFamily: "Arch" is no family that can be converted; write AL2023, AL2, Bottlerocket, Ubuntu, Windows2019, Windows2022 or Custom`},
		{nodeClass("amiSelectorTerms: [{id: ami-1, name: x}]"), `EC2NodeClass "b": spec.amiSelectorTerms[0]: a term with an id has nothing else; write a term for each`},
		{nodeClass("amiSelectorTerms: [{owner: self}]"), `EC2NodeClass "b": spec.amiSelectorTerms[0]: a term selects by tags, id or name; write one of them`},
		{nodeClass("subnetSelectorTerms: [{id: subnet-1, tags: {a: b}}]"), `EC2NodeClass "b": spec.subnetSelectorTerms[0]: a term selects by one of tags and id; write a term for each`},
		{nodeClass("subnetSelectorTerms: [{name: x}]"), `EC2NodeClass "b": spec.subnetSelectorTerms[0].name: no such field here; write tags: {Name: x}`},
		{nodeClass("subnetSelectorTerms: []"), `EC2NodeClass "b": spec.subnetSelectorTerms: missing; write a term with tags or an id`},
		{nodeClass("subnetSelector: {a: b}"), `EC2NodeClass "b": spec.subnetSelector: a field of AWSNodeTemplate; write spec.subnetSelectorTerms`},
		{strings.TrimRight(settings(), "\n ") + " ${jsonencode(var.x)}", `ConfigMap "karpenter-global-settings": data: a template for all of it; write each setting with a template of its own`},
		{settings("aws.reservedENIs: 0"), `ConfigMap "karpenter-global-settings": data[aws.reservedENIs]: the number 0, which must be text; put it in quotes`},
		{settings("aws.reservedENIs: '0'") + "\n---\n" + settings("aws.reservedENIs: '1'"), `ConfigMap "karpenter-global-settings": metadata.name: karpenter-global-settings is in the input twice; remove one of the two, or convert the objects of each cluster by themselves`},
	}
}
