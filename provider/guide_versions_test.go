package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

func TestVersionsGuide_NamesTheVersionsThatTheCodeTakes(t *testing.T) {
	text := func(file string) string {
		t.Helper()
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(read)
	}
	guide := text("../templates/guides/versions.md")
	for _, want := range []string{
		fmt.Sprintf("| Kubernetes | 1.%d to 1.%d |", install.MinKubernetesMinor, install.MaxKubernetesMinor),
		"| Terraform, OpenTofu | 1.11 or newer |", "protocol 6.0",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	for _, file := range []string{"../examples/quickstart/main.tf", "../examples/complete/main.tf"} {
		if !strings.Contains(text(file), `required_version = ">= 1.11"`) {
			t.Errorf("%s demands another version than the guide", file)
		}
	}
	if !strings.Contains(text("../terraform-registry-manifest.json"), `["6.0"]`) {
		t.Error("the registry's manifest has another protocol than the guide")
	}
}

// Who goes back to an older provider has a state with attributes that it does not know.
func TestState_OfANewerProviderIsReadAsLongAsItsSchemaVersionIsTheSame(t *testing.T) {
	h := newHarness(t)
	for name, schema := range h.schema.ResourceSchemas {
		if schema.Version != 0 {
			t.Errorf("%s has schema version %d: an older provider does not read its state; say so in the changelog and in the guide Versions and upgrades", name, schema.Version)
		}
		read, err := h.server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
			TypeName: name, Version: schema.Version, RawState: &tfprotov6.RawState{JSON: []byte(`{"attribute_of_a_newer_version": {"a": [1]}}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range read.Diagnostics {
			t.Errorf("%s: %s: %s", name, d.Summary, d.Detail)
		}
	}
}
