package legacy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	coreold "github.com/aws/karpenter-core/pkg/apis/v1alpha5"
	awsold "github.com/aws/karpenter/pkg/apis/v1alpha1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// definition31 is the SHA-256 of the definition of Provisioner in karpenter-core v0.31.0.
const definition31 = "74d4b66494480529cd921d64ca80fa4c10e234fa2acda1c8a879bf912c1f118a"

// verdict is on a Provisioner and its AWSNodeTemplate.
type verdict struct {
	name           string
	spec, template string // fields beside the required ones
	refused        bool   // by the daemon: the condition Served is False
	differs        string // why Karpenter's verdict is the other one; empty if it is not
}

func verdicts() []verdict {
	kubelet := func(fields string) string { return ", kubeletConfiguration: {" + fields + "}" }
	requirement := func(fields string) string { return ", requirements: [{" + fields + "}]" }
	const (
		itself = "nodes have it by themselves, so it is dropped"
		aside  = "the daemon sets the label when the node registers, which the kubelet could not"
		ids    = "the ids count, and the condition Adapted says so"
		starts = "no kubelet starts with it"
	)
	volume := func(fields string) string { return ", blockDeviceMappings: [{" + fields + "}]" }
	return []verdict{
		{name: "least"},
		{name: "all times and limits", spec: ", weight: 10, ttlSecondsUntilExpired: 600, ttlSecondsAfterEmpty: 30, limits: {resources: {cpu: 1k, memory: 1Ti}}"},
		{name: "unknown field", spec: ", ttlSecondsAfterEmty: 30", refused: true},
		{name: "weight of 0", spec: ", weight: 0", refused: true},
		{name: "weight of 101", spec: ", weight: 101", refused: true},
		{name: "expiry before now", spec: ", ttlSecondsUntilExpired: -1", refused: true},
		{name: "emptiness before now", spec: ", ttlSecondsAfterEmpty: -1", refused: true},
		{name: "emptiness and consolidation", spec: ", ttlSecondsAfterEmpty: 30, consolidation: {enabled: true}", refused: true},
		{name: "emptiness and no consolidation", spec: ", ttlSecondsAfterEmpty: 30, consolidation: {enabled: false}"},
		{name: "a text for a number", spec: ", weight: ten", refused: true},
		{name: "limit that is no quantity", spec: ", limits: {resources: {cpu: much}}", refused: true},
		{name: "provider beside the reference", spec: ", provider: {subnetSelector: {a: b}, securityGroupSelector: {a: b}}", refused: true},

		{name: "label of the Provisioner", spec: ", labels: {karpenter.sh/provisioner-name: web}", differs: itself},
		{name: "label with a bad key", spec: ", labels: {'a b': c}", refused: true},
		{name: "label with a bad value", spec: ", labels: {a: 'b c'}", refused: true},
		{name: "label of Kubernetes", spec: ", labels: {kubernetes.io/mine: b}", differs: aside},
		{name: "label of the hostname", spec: ", labels: {kubernetes.io/hostname: b}", differs: "no node has the label of another, so it is dropped, and the condition Adapted says so"},
		{name: "label of an exception", spec: ", labels: {kops.k8s.io/a: b, node.kubernetes.io/a: b}"},
		{name: "label of the instance", spec: ", labels: {node.kubernetes.io/instance-type: m5.large}"},

		{name: "taint twice", spec: ", taints: [{key: a, effect: NoSchedule}], startupTaints: [{key: a, effect: NoSchedule}]", refused: true},
		{name: "taint without key", spec: ", taints: [{effect: NoSchedule}]", refused: true},
		{name: "taint with another effect", spec: ", taints: [{key: a, effect: Never}]", refused: true},
		{name: "taint without effect", spec: ", taints: [{key: a, value: b}]", refused: true},

		{name: "requirement", spec: requirement("key: karpenter.sh/capacity-type, operator: In, values: [spot]")},
		{name: "operator that is none", spec: requirement("key: a, operator: Near, values: [b]"), refused: true},
		{name: "In without values", spec: requirement("key: a, operator: In"), refused: true},
		{name: "Gt with two values", spec: requirement("key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['1', '2']"), refused: true},
		{name: "Gt of a word", spec: requirement("key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [many]"), refused: true},
		{name: "Exists", spec: requirement("key: node.kubernetes.io/instance-type, operator: Exists")},
		{name: "bad value", spec: requirement("key: a, operator: In, values: ['b c']"), refused: true},
		{name: "Provisioner required", spec: requirement("key: karpenter.sh/provisioner-name, operator: In, values: [web]"), differs: itself},

		{name: "kubelet", spec: kubelet("maxPods: 20, systemReserved: {cpu: 100m}, evictionHard: {memory.available: 5%}, evictionSoft: {memory.available: 10%}, evictionSoftGracePeriod: {memory.available: 1m}")},
		{name: "maxPods below 0", spec: kubelet("maxPods: -1"), refused: true},
		{name: "podsPerCore below 0", spec: kubelet("podsPerCore: -1"), refused: true},
		{name: "image threshold above 100", spec: kubelet("imageGCHighThresholdPercent: 101"), refused: true},
		{name: "image thresholds crossed", spec: kubelet("imageGCHighThresholdPercent: 60, imageGCLowThresholdPercent: 70"), refused: true},
		{name: "image thresholds equal", spec: kubelet("imageGCHighThresholdPercent: 60, imageGCLowThresholdPercent: 60"), refused: true, differs: starts},
		{name: "reserved resource that is none", spec: kubelet("kubeReserved: {gpu: '1'}"), refused: true},
		{name: "reserved below 0", spec: kubelet("kubeReserved: {cpu: '-1'}"), refused: true},
		{name: "signal that is none", spec: kubelet("evictionHard: {memory: 5%}"), refused: true},
		{name: "threshold above all", spec: kubelet("evictionHard: {memory.available: 101%}"), refused: true},
		{name: "threshold that is no quantity", spec: kubelet("evictionHard: {memory.available: much}"), refused: true},
		{name: "soft without grace period", spec: kubelet("evictionSoft: {memory.available: 10%}"), refused: true},
		{name: "grace period without soft", spec: kubelet("evictionSoftGracePeriod: {memory.available: 1m}"), refused: true},
		{name: "grace period that is none", spec: kubelet("evictionSoft: {memory.available: 10%}, evictionSoftGracePeriod: {memory.available: long}"), refused: true},

		{name: "unknown field of the template", template: ", subnetSelctor: {a: b}", refused: true},
		{name: "family that is none", template: ", amiFamily: Gentoo", refused: true},
		{name: "Custom without images", template: ", amiFamily: Custom", refused: true},
		{name: "images by id", template: ", amiSelector: {aws-ids: 'ami-1,ami-2'}"},
		{name: "images by id and tag", template: ", amiSelector: {aws-ids: ami-1, a: b}", differs: ids},
		{name: "bad id of an image", template: ", amiSelector: {aws-ids: image-1}", refused: true},
		{name: "image selector of an empty value", template: ", amiSelector: {a: ''}", refused: true},
		{name: "tag of the controller", template: ", tags: {karpenter.sh/provisioner-name: a}", differs: itself},
		{name: "tag of the cluster", template: ", tags: {kubernetes.io/cluster/lab: owned}", differs: itself},
		{name: "tag without key", template: ", tags: {'': a}", refused: true},
		{name: "metadata options", template: ", metadataOptions: {httpEndpoint: enabled, httpPutResponseHopLimit: 2, httpTokens: optional, httpProtocolIPv6: disabled}"},
		{name: "metadata tokens that are none", template: ", metadataOptions: {httpTokens: maybe}", refused: true},
		{name: "hop limit of 65", template: ", metadataOptions: {httpPutResponseHopLimit: 65}", refused: true},
		{name: "volume", template: volume("deviceName: /dev/xvda, ebs: {volumeSize: 20Gi, volumeType: gp3, encrypted: true}")},
		{name: "volume without name", template: volume("ebs: {volumeSize: 20Gi}"), refused: true},
		{name: "volume without size", template: volume("deviceName: /dev/xvda, ebs: {volumeType: gp3}"), refused: true},
		{name: "volume of a snapshot", template: volume("deviceName: /dev/xvda, ebs: {snapshotID: snap-1}")},
		{name: "volume too large", template: volume("deviceName: /dev/xvda, ebs: {volumeSize: 65Ti}"), refused: true},
		{name: "volume of a type that is none", template: volume("deviceName: /dev/xvda, ebs: {volumeSize: 20Gi, volumeType: fast}"), refused: true},
		{name: "launch template", template: ", launchTemplate: mine", refused: true},
		{name: "launch template with a family", template: ", launchTemplate: mine, amiFamily: AL2", refused: true},
	}
}

func (v *verdict) live() legacy.Live {
	return legacy.Live{
		Provisioner: "{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: web}, spec: {providerRef: {name: shared}" + v.spec + "}}",
		Template: "{apiVersion: karpenter.k8s.aws/v1alpha1, kind: AWSNodeTemplate, metadata: {name: shared}, spec: {instanceProfile: node, " +
			"subnetSelector: {karpenter.sh/discovery: lab}, securityGroupSelector: {karpenter.sh/discovery: lab}" + v.template + "}}",
	}
}

// Karpenter refuses by the schema of its definition or by its webhooks. The definition here
// keeps everything, and the daemon refuses in the condition Served.
func TestVerdicts_AreThoseOfV1alpha5(t *testing.T) {
	provisioners, templates := theirDefinition(t, "github.com/aws/karpenter-core", "karpenter.sh_provisioners.yaml"), theirDefinition(t, "github.com/aws/karpenter", "karpenter.k8s.aws_awsnodetemplates.yaml")
	schemas := []*crdtest.Definition{crdtest.Parse(t, provisioners), crdtest.Parse(t, templates)}
	for _, v := range verdicts() {
		t.Run(v.name, func(t *testing.T) {
			live := v.live()
			served := legacy.Serve(live, lastWithAL2)
			ours := legacy.Sentences(served.Errors)
			if served.Pool != nil && len(served.Pool.Validate()) > 0 { // such a pool is not ready
				ours = served.Pool.Validate().ToAggregate().Error()
			}
			if refused := ours != ""; refused != v.refused {
				t.Errorf("refused %v, want %v: %s", refused, v.refused, ours)
			}
			var theirs []string
			for i, object := range []string{live.Provisioner, live.Template} {
				_, pruned, errs := schemas[i].Create(t, object)
				for _, e := range errs {
					theirs = append(theirs, e.Error())
				}
				for _, p := range pruned {
					theirs = append(theirs, p+": no such field")
				}
			}
			theirs = append(theirs, webhooks(t, live)...)
			if same := v.refused == (len(theirs) > 0); same != (v.differs == "") {
				t.Errorf("ours %q, Karpenter's %q; said to differ because %q", ours, theirs, v.differs)
			}
		})
	}
}

// webhooks are what Karpenter's webhooks refuse. What cannot be read is refused before.
func webhooks(t *testing.T, live legacy.Live) (refused []string) {
	t.Helper()
	p, template := &coreold.Provisioner{}, &awsold.AWSNodeTemplate{}
	if err := errors.Join(yaml.Unmarshal([]byte(live.Provisioner), p), yaml.Unmarshal([]byte(live.Template), template)); err != nil {
		return []string{err.Error()}
	}
	for _, err := range []*apis.FieldError{p.Validate(t.Context()), template.Validate(t.Context())} {
		if err != nil {
			refused = append(refused, err.Error())
		}
	}
	return refused
}

// theirDefinition reads a definition out of a module.
func theirDefinition(t *testing.T, module, file string) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg", "apis", "crds", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is judged by 0.32 is judged by 0.31.
func TestLegacy_DefinitionOfProvisionerIsThatOf031(t *testing.T) {
	sum := sha256.Sum256(theirDefinition(t, "github.com/aws/karpenter-core", "karpenter.sh_provisioners.yaml"))
	if got := hex.EncodeToString(sum[:]); got != definition31 {
		t.Errorf("the definition is another one: %s", got)
	}
}
