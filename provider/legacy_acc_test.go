//go:build lab

package provider_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var provisioners = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1alpha5", Resource: "provisioners"}

// TestAccDaemon_LegacyDefinitionsStayWhileTheyAreNeeded turns legacy_api off while somebody
// has a Provisioner: with the definition, the API server would delete it.
func TestAccDaemon_LegacyDefinitionsStayWhileTheyAreNeeded(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	const address, definition = "karpenter_daemon.this", "provisioners.karpenter.sh"
	config := func(more string) string { return l.infrastructure() + fmt.Sprintf(daemonBlock, more) }
	run(t, func() error {
		if !s.gone(definitions, "", definition) {
			return errors.New("the definition is left")
		}
		return nil
	},
		resource.TestStep{
			Config: config("  legacy_api = true"),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(address, "legacy_api", "true"),
				func(*terraform.State) error {
					s.get(definitions, "", "awsnodetemplates.karpenter.k8s.aws")
					return s.create(provisioners, "", map[string]any{
						"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": map[string]any{"name": "theirs"}, "spec": map[string]any{"anything": "stays"},
					})
				}),
		},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "karpenter", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "id"},
		resource.TestStep{Config: config(""), ExpectError: regexp.MustCompile(`still needed\s+by: Provisioner "theirs"`)},
		resource.TestStep{
			PreConfig: func() {
				if kept := s.get(provisioners, "", "theirs").Object["spec"].(map[string]any)["anything"]; kept != "stays" {
					t.Errorf("an unknown field became %v", kept)
				}
				if err := s.remove(provisioners, "", "theirs"); err != nil {
					t.Fatal(err)
				}
			},
			Config: config(""),
			Check: func(*terraform.State) error {
				if !s.gone(definitions, "", definition) {
					return errors.New("the definition is left")
				}
				return nil
			},
		},
	)
}
