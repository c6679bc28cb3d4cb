package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// kubectlState is the state of a kubectl_manifest, as both forks of that provider keep it.
func kubectlState(manifest string) object {
	return object{
		"api_version": "karpenter.sh/v1", "apply_only": false, "force_conflicts": false, "force_new": false, "id": "/apis/karpenter.sh/v1/nodepools/default",
		"ignore_fields": nil, "kind": "NodePool", "live_manifest_incluster": "4c2f", "live_uid": "3f0e", "name": "default", "namespace": nil, "override_namespace": nil,
		"sensitive_fields": nil, "server_side_apply": false, "timeouts": nil, "uid": "3f0e", "validate_schema": true, "wait": nil, "wait_for_rollout": true,
		"yaml_body": manifest, "yaml_body_parsed": manifest, "yaml_incluster": "4c2f",
	}
}

// kubernetesState is the state of a kubernetes_manifest. Its dynamic attributes have their
// type beside the value.
func kubernetesState(apiVersion, kind, name string) object {
	manifest := object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": name}, "spec": object{"weight": 5}}
	dynamic := object{"type": list{"object", object{}}, "value": manifest}
	return object{"computed_fields": nil, "field_manager": list{}, "manifest": dynamic, "object": dynamic, "timeouts": list{}, "wait": list{}, "wait_for": nil}
}

// moved moves the state of another provider's resource to one of ours.
func (h *harness) moved(to, provider, from string, version int64, state object) (*instance, []*tfprotov6.Diagnostic) {
	h.t.Helper()
	raw, err := json.Marshal(state)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := h.server.MoveResourceState(h.t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: provider, SourceTypeName: from, SourceSchemaVersion: version, SourceState: &tfprotov6.RawState{JSON: raw}, TargetTypeName: to,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	i := h.resource(to)
	if !hasError(resp.Diagnostics) {
		i.state, i.private, i.identity = h.decode(to, resp.TargetState), resp.TargetPrivate, resp.TargetIdentity
	}
	return i, resp.Diagnostics
}

const (
	poolManifest  = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: default\nspec:\n  weight: 5\n"
	classManifest = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\n"
)

func TestMoved_ManifestsOfOtherProvidersAreTakenByName(t *testing.T) {
	h := newHarness(t)
	for name, tt := range map[string]struct {
		to, provider, from string
		state              object
	}{
		"kubectl":                  {"karpenter_node_pool", "registry.terraform.io/gavinbunney/kubectl", "kubectl_manifest", kubectlState(poolManifest)},
		"its fork, and OpenTofu":   {"karpenter_node_class", "registry.opentofu.org/alekc/kubectl", "kubectl_manifest", kubectlState(classManifest)},
		"kubernetes":               {"karpenter_node_pool", "registry.terraform.io/hashicorp/kubernetes", "kubernetes_manifest", kubernetesState("karpenter.sh/v1", "NodePool", "default")},
		"kubernetes, of the class": {"karpenter_node_class", "registry.terraform.io/hashicorp/kubernetes", "kubernetes_manifest", kubernetesState("karpenter.k8s.aws/v1", "EC2NodeClass", "default")},
	} {
		t.Run(name, func(t *testing.T) {
			moved, diags := h.moved(tt.to, tt.provider, tt.from, 1, tt.state)
			wantNoError(t, diags)
			if got := moved.text("name"); got != "default" || moved.identity == nil {
				t.Errorf("name %q, identity %v", got, moved.identity)
			}
		})
	}
}

func TestMoved_WhatCannotBeMovedSaysWhatToDo(t *testing.T) {
	h := newHarness(t)
	const kubectl, kubernetes = "registry.terraform.io/alekc/kubectl", "registry.terraform.io/hashicorp/kubernetes"
	older := func(apiVersion, kind string) object {
		return kubectlState("apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: default\n")
	}
	for name, tt := range map[string]struct {
		provider, from string
		version        int64
		state          object
		parts          []string
	}{
		"Provisioner":       {kubectl, "kubectl_manifest", 1, older("karpenter.sh/v1alpha5", "Provisioner"), []string{`Provisioner "default"`, "karpenterd convert --hcl", "legacy_api = true"}},
		"v1beta1":           {kubectl, "kubectl_manifest", 1, older("karpenter.sh/v1beta1", "NodePool"), []string{"v1beta1", "provider::karpenter::convert"}},
		"other resource":    {kubectl, "kubectl_manifest", 1, kubectlState(classManifest), []string{"is a karpenter_node_class", "moved block"}},
		"other kind":        {kubernetes, "kubernetes_manifest", 1, kubernetesState("v1", "Secret", "default"), []string{`Secret "default"`, "no resource"}},
		"no manifest":       {kubernetes, "kubernetes_manifest", 1, object{"manifest": nil}, []string{"no resource"}},
		"broken yaml":       {kubectl, "kubectl_manifest", 1, kubectlState(":\n  - ]"), []string{"yaml_body", "removed block"}},
		"newer schema":      {kubectl, "kubectl_manifest", 7, kubectlState(poolManifest), []string{"schema version 7", "removed block", "import block"}},
		"another type":      {kubernetes, "kubernetes_secret", 1, object{}, []string{"Unable to Move"}},
		"another's of name": {"registry.terraform.io/somebody/else", "kubectl_manifest", 1, kubectlState(poolManifest), []string{"Unable to Move"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := h.moved("karpenter_node_pool", tt.provider, tt.from, tt.version, tt.state)
			wantError(t, diags, tt.parts...)
		})
	}
}
