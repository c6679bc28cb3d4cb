package legacy_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

const liveTemplate = `{apiVersion: karpenter.k8s.aws/v1alpha1, kind: AWSNodeTemplate, metadata: {name: shared}, spec: {
  instanceProfile: node, subnetSelector: {karpenter.sh/discovery: lab}, securityGroupSelector: {karpenter.sh/discovery: lab}%s}}`

// liveOf is a Provisioner with these fields, and a template with those more.
func liveOf(spec, template string) legacy.Live {
	return legacy.Live{
		Provisioner: "{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: web}, spec: {providerRef: {name: shared}" + spec + "}}",
		Template:    strings.Replace(liveTemplate, "%s", template, 1),
	}
}

func served(t *testing.T, live legacy.Live, kubernetes int) legacy.Served {
	t.Helper()
	out := legacy.Serve(live, kubernetes)
	if len(out.Errors) > 0 || out.Pool == nil || out.Class == nil {
		t.Fatalf("not served: %v", out.Errors)
	}
	return out
}

func TestServe_PoolAndClassHaveTheNameOfTheProvisioner(t *testing.T) {
	out := served(t, liveOf("", ""), 32)
	if out.Pool.Name != "web" || out.Class.Name != "web" || out.Pool.Spec.Template.Spec.NodeClassRef.Name != "web" {
		t.Errorf("pool %s, class %s, reference %s", out.Pool.Name, out.Class.Name, out.Pool.Spec.Template.Spec.NodeClassRef.Name)
	}
	if got := out.Class.Spec.Tags["karpenter.sh/provisioner-name"]; got != "web" {
		t.Errorf("tags %v", out.Class.Spec.Tags)
	}
	if got := out.Class.Spec.InstanceProfile; got != "node" {
		t.Errorf("instance profile %q", got)
	}
	if !strings.Contains(out.Migrated, "kind: EC2NodeClass") || !strings.Contains(out.Migrated, "kind: NodePool") || strings.Contains(out.Migrated, "name: shared") {
		t.Errorf("manifests of v1:\n%s", out.Migrated)
	}
}

func TestServe_InlineProviderIsAClass(t *testing.T) {
	out := served(t, legacy.Live{Provisioner: `{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: web}, spec: {
		provider: {instanceProfile: node, subnetSelector: {a: b}, securityGroupSelector: {a: b}, tags: {team: x}}}}`}, 32)
	if got := out.Class.Spec.Tags["team"]; got != "x" {
		t.Errorf("tags %v", out.Class.Spec.Tags)
	}
}

func TestServe_RestrictedKeysStayAndConversionRenamesThem(t *testing.T) {
	out := served(t, liveOf(`, labels: {karpenter.sh/own: x}, requirements: [{key: karpenter.sh/capacity-spread, operator: In, values: ["1", "2"]}]`, ""), 32)
	keys := func(list []v1.Requirement) (all []string) {
		for _, r := range list {
			all = append(all, r.Key)
		}
		return all
	}(out.Pool.Spec.Template.Spec.Requirements)
	labels := out.Pool.Spec.Template.ObjectMeta.Labels
	if !slices.Contains(keys, "karpenter.sh/capacity-spread") || labels["karpenter.sh/own"] != "x" || labels["karpenter.sh/provisioner-name"] != "web" {
		t.Errorf("requirements %v, labels %v", keys, labels)
	}
	if strings.Contains(out.Migrated, "karpenter.sh/capacity-spread") || !strings.Contains(out.Migrated, "key: capacity-spread") {
		t.Errorf("manifests of v1:\n%s", out.Migrated)
	}
}

func TestServe_OwnKeyOfTheInstanceDomainIsAnError(t *testing.T) {
	out := legacy.Serve(liveOf(`, labels: {karpenter.k8s.aws/own: x}`, ""), 32)
	if text := legacy.Sentences(out.Errors); !strings.Contains(text, `Provisioner "web": spec.labels[karpenter.k8s.aws/own]: karpenter.k8s.aws/own is a key of your own`) {
		t.Errorf("errors: %s", text)
	}
}

func TestServe_DriftIsOffUnlessTheSettingsSayOtherwise(t *testing.T) {
	off := func(p *v1.NodePool) bool {
		return slices.ContainsFunc(p.Spec.Disruption.Budgets, func(b v1.Budget) bool {
			return b.Nodes == "0" && len(b.Reasons) == 1 && b.Reasons[0] == "Drifted"
		})
	}
	live := liveOf("", "")
	if !off(served(t, live, 32).Pool) {
		t.Error("drift is on by default")
	}
	live.Settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: karpenter-global-settings, namespace: karpenter}, data: {featureGates.driftEnabled: "true"}}`
	if off(served(t, live, 32).Pool) {
		t.Error("drift is off although the settings have it on")
	}
}

func TestServe_SettingsGiveProfileAndTags(t *testing.T) {
	live := liveOf("", "")
	live.Template = strings.Replace(live.Template, "instanceProfile: node, ", "", 1)
	if text := legacy.Sentences(legacy.Serve(live, 32).Errors); !strings.Contains(text, "spec.instanceProfile: missing") || !strings.Contains(text, "in the daemon's namespace") {
		t.Errorf("errors: %s", text)
	}
	live.Settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: karpenter-global-settings}, data: {aws.defaultInstanceProfile: fallback, aws.tags: '{"team":"x"}', no.such: "1"}}`
	out := served(t, live, 32)
	if out.Class.Spec.InstanceProfile != "fallback" || out.Class.Spec.Tags["team"] != "x" {
		t.Errorf("class %+v", out.Class.Spec)
	}
	if text := legacy.Sentences(legacy.CheckSettings(live.Settings, os.Getenv)); !strings.Contains(text, "data[no.such]: no such setting") {
		t.Errorf("what is wrong with the settings: %q", text)
	}
}

// The daemon has them from its own environment: what is there otherwise must not be lost in silence.
func TestCheckSettings_NamesTheSettingsThatTheDaemonHasOtherwise(t *testing.T) {
	const settings = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "karpenter-global-settings"},
		"data": {"aws.clusterName": "lab", "aws.reservedENIs": "1", "aws.vmMemoryOverheadPercent": "0.075", "aws.isolatedVPC": "true"}}`
	has := map[string]string{"CLUSTER_NAME": "lab", "ISOLATED_VPC": "true", "RESERVED_ENIS": "0"}
	var got []string
	for _, p := range legacy.CheckSettings(settings, func(variable string) string { return has[variable] }) {
		got = append(got, p.String())
	}
	want := []string{`ConfigMap "karpenter-global-settings": data[aws.reservedENIs]: is "1", and the daemon has "0", which counts; set reserved_enis of karpenter_daemon, or the value of its chart, if the daemon is to have it, too`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServe_ConsolidationWaitsAsItDid(t *testing.T) {
	for spec, want := range map[string]string{
		", consolidation: {enabled: true}": "WhenEmptyOrUnderutilized 15s",
		", ttlSecondsAfterEmpty: 30":       "WhenEmpty 30s",
		", ttlSecondsAfterEmpty: 0":        "WhenEmpty 0s",
		"":                                 "WhenEmpty Never",
	} {
		d := served(t, liveOf(spec, ""), 32).Pool.Spec.Disruption
		after := "Never"
		if !d.ConsolidateAfter.Never {
			after = d.ConsolidateAfter.Duration.String()
		}
		if got := string(d.ConsolidationPolicy) + " " + after; got != want {
			t.Errorf("%q: %s, want %s", spec, got, want)
		}
	}
}

func TestServe_WithoutAL2ImagesNodesRunAL2023(t *testing.T) {
	for name, tc := range map[string]struct {
		template   string
		kubernetes int
		alias      string
		note       string
	}{
		"no family before 1.33":    {"", 32, "al2@latest", ""},
		"no family from 1.33 on":   {"", 33, "al2023@latest", "AL2 has no image for Kubernetes 1.33, so nodes run al2023@latest"},
		"AL2 from 1.33 on":         {", amiFamily: AL2", 36, "al2023@latest", "AL2 has no image for Kubernetes 1.36"},
		"with a script":            {`, userData: "echo hello"`, 33, "al2023@latest", "with userData as shell parts"},
		"Bottlerocket":             {", amiFamily: Bottlerocket", 36, "bottlerocket@latest", ""},
		"a comment is no call":     {`, userData: "# not /etc/eks/bootstrap.sh\necho"`, 33, "al2023@latest", "AL2 has no image"},
		"AL2 with images selected": {", amiFamily: AL2, amiSelector: {aws-ids: ami-1}", 36, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := served(t, liveOf("", tc.template), tc.kubernetes)
			if got := out.Class.Spec.AMISelectorTerms[0].Alias; got != tc.alias {
				t.Errorf("alias %q, want %q", got, tc.alias)
			}
			if text := legacy.Sentences(out.Notes); !strings.Contains(text, tc.note) || tc.note == "" && text != "" {
				t.Errorf("notes %q, want %q", text, tc.note)
			}
		})
	}
}

func TestServe_WhatNothingDoesIsNotedAndWhatTheDaemonDoesItselfIsNot(t *testing.T) {
	const dropped = " is dropped"
	for name, tc := range map[string]struct{ spec, template, note string }{
		"container runtime":    {", kubeletConfiguration: {containerRuntime: dockerd}", "", "spec.kubeletConfiguration.containerRuntime: dockerd" + dropped},
		"label of one node":    {", labels: {kubernetes.io/hostname: a}", "", "spec.labels[kubernetes.io/hostname]:" + dropped},
		"one node required":    {requiring("kubernetes.io/hostname"), "", "spec.requirements[0]:" + dropped},
		"number of pods":       {requiring("karpenter.k8s.aws/instance-pods"), "", "spec.requirements[0]: karpenter.k8s.aws/instance-pods" + dropped},
		"image":                {requiring("karpenter.k8s.aws/instance-ami-id"), "", "spec.requirements[0]: karpenter.k8s.aws/instance-ami-id" + dropped},
		"names of images":      {"", `, amiFamily: AL2, amiSelector: {"aws::ids": ami-1, "aws::name": x}`, "spec.amiSelector: all but the ids" + dropped},
		"tag as requirement":   {"", ", amiFamily: AL2, amiSelector: {kubernetes.io/arch: arm64}", "took this tag of an image as a requirement on nodes"},
		"tag of the daemon":    {"", ", tags: {karpenter.sh/managed-by: x}", ""},
		"label of the daemon":  {", labels: {karpenter.sh/provisioner-name: web, karpenter.sh/nodepool: web}", "", ""},
		"required of itself":   {requiring("karpenter.sh/provisioner-name"), "", ""},
		"changed, not dropped": {", consolidation: {enabled: true}, ttlSecondsUntilExpired: 600", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			notes := served(t, liveOf(tc.spec, tc.template), 32).Notes
			if text := legacy.Sentences(notes); !strings.Contains(text, tc.note) || (tc.note == "") != (text == "") {
				t.Errorf("notes %q, want %q", text, tc.note)
			}
			if len(notes) > 1 {
				t.Errorf("%d notes: %v", len(notes), notes)
			}
		})
	}
}

// requiring is a requirement of a Provisioner for the key.
func requiring(key string) string {
	return ", requirements: [{key: " + key + ", operator: In, values: [web]}]"
}

func TestServe_UserDataThatCallsBootstrapIsAnErrorWithoutAL2(t *testing.T) {
	live := liveOf("", `, userData: "#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh lab\n"`)
	if text := legacy.Sentences(legacy.Serve(live, 33).Errors); !strings.Contains(text, `AWSNodeTemplate "shared": spec.userData: calls bootstrap.sh`) {
		t.Errorf("errors: %q", text)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh lab\n"))
	mixed := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n" + encoded + "\n--//--\n"
	if text := legacy.Sentences(legacy.Serve(liveOf("", fmt.Sprintf(", userData: %q", mixed)), 33).Errors); !strings.Contains(text, "calls bootstrap.sh") {
		t.Errorf("in base64: errors: %q", text)
	}
	if errors := legacy.Serve(live, 32).Errors; len(errors) > 0 {
		t.Errorf("errors where AL2 has images: %v", errors)
	}
}

func TestServe_LimitsWeightTaintsAndKubeletAreThere(t *testing.T) {
	out := served(t, liveOf(`, weight: 7, limits: {resources: {cpu: 1000}}, taints: [{key: a, effect: NoSchedule}], kubeletConfiguration: {maxPods: 20}, ttlSecondsUntilExpired: 600`, ""), 32)
	spec := out.Pool.Spec
	cpu := spec.Limits[corev1.ResourceCPU]
	if spec.Weight == nil || *spec.Weight != 7 || cpu.Value() != 1000 || len(spec.Template.Spec.Taints) != 1 || spec.Template.Spec.ExpireAfter.Duration.Seconds() != 600 {
		t.Errorf("pool %+v", spec)
	}
	if k := out.Class.Spec.Kubelet; k == nil || k.MaxPods == nil || k.MaxPods.IntVal != 20 {
		t.Errorf("kubelet %+v", k)
	}
}

func TestServe_BadObjectGivesOneErrorThatNamesItsField(t *testing.T) {
	noTemplate := liveOf("", "")
	noTemplate.Template = ""
	for name, tc := range map[string]struct {
		live legacy.Live
		want string
	}{
		"unknown field":   {liveOf(", ttlSecondsAfterEmty: 30", ""), `Provisioner "web": spec.ttlSecondsAfterEmty: no such field`},
		"template gone":   {noTemplate, `Provisioner "web": spec.providerRef.name: AWSNodeTemplate "shared" does not exist; create it, or correct the name`},
		"broken template": {liveOf("", ", subnetSelctor: {}"), `AWSNodeTemplate "shared": spec.subnetSelctor: no such field`},
		"with a kubelet":  {liveOf(", kubeletConfiguration: {maxPods: 20}", ", subnetSelctor: {}"), `AWSNodeTemplate "shared": spec.subnetSelctor: no such field`},
		"launch template": {liveOf("", ", launchTemplate: mine"), `AWSNodeTemplate "shared": spec.launchTemplate: v1 takes no launch template`},
	} {
		t.Run(name, func(t *testing.T) {
			out := legacy.Serve(tc.live, 32)
			if text := legacy.Sentences(out.Errors); !strings.HasPrefix(text, tc.want) || len(out.Errors) != 1 || out.Pool != nil {
				t.Errorf("errors %q, want %q", text, tc.want)
			}
		})
	}
}
