//go:build lab

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// TestAccTrials_TheToolsSeeWhatTheTrialsSay plays a trial with OpenTofu and Terraform, which
// hold the provider to more rules than the tests in its process. A run of the tests draws one
// resource and one of its attributes. See trials.
func TestAccTrials_TheToolsSeeWhatTheTrialsSay(t *testing.T) {
	kinds := awsTrials()
	for _, begin := range share.Of(t.Name(), len(kinds), kinds) {
		s := begin(t)
		all := s.all(t)
		for _, of := range share.Of(s.kind, len(all), all) {
			for _, cli := range clis(t) {
				t.Run(s.kind+"/"+of.name+"/"+cli.name, func(t *testing.T) {
					cli.use(t)
					s.tryWithTool(t, of)
				})
			}
		}
	}
}

func (s *trials) tryWithTool(t *testing.T, of tried) {
	t.Helper()
	base, action := s.baseOf(of), plancheck.ResourceActionUpdate
	if slices.Contains(s.replaces, of.name) {
		action = plancheck.ResourceActionDestroyBeforeCreate
	}
	step := func(value any) resource.TestStep {
		return resource.TestStep{Config: s.cloud.hcl("%s", s.block(t, setAt(base, of.name, value)))}
	}
	changed := step(of.values[0])
	changed.ConfigPlanChecks = planned(s.kind+".this", action)
	steps := []resource.TestStep{step(nil), changed}
	if of.values[1] != nil {
		steps = append(steps, step(of.values[1]))
	}
	run(t, func() error { return nil }, append(steps, step(nil))...)
}

// block is the configuration as text. What JSON is, HCL reads, too.
func (s *trials) block(t *testing.T, config object) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q \"this\" {\n", s.kind)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		value, err := json.Marshal(config[name])
		must(t, err)
		fmt.Fprintf(&b, "  %s = %s\n", name, value)
	}
	return b.String() + "}\n"
}
