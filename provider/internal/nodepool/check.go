package nodepool

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// contradictions names the first requirement that leaves no value for its key, and
// the requirements (or the label) that it contradicts.
func contradictions(spec v1.NodePoolSpec) diag.Diagnostics {
	var diags diag.Diagnostics
	type source struct {
		requirement label.Requirement
		from        []string
	}
	sofar := map[string]source{}
	for key, value := range spec.Template.ObjectMeta.Labels {
		r := label.Is(key, value)
		sofar[r.Key()] = source{requirement: r, from: []string{fmt.Sprintf("labels[%q]", key)}}
	}
	for i, required := range spec.Template.Spec.Requirements {
		r, err := label.NewRequirement(required.Key, label.Operator(required.Operator), required.Values...)
		if err != nil {
			continue // unknown in part, or objected to already
		}
		here := path.Root("requirements").AtListIndex(i)
		before, has := sofar[r.Key()]
		if !has {
			sofar[r.Key()] = source{requirement: r, from: []string{here.String()}}
			continue
		}
		both := before.requirement.Intersect(r)
		if both.Contradicts() {
			diags.AddAttributeError(here, "Contradictory requirements", fmt.Sprintf(
				"%s (%s) and %s (%s) leave no value for label %s, so no node can be launched. Correct or remove one of them.",
				here, r, strings.Join(before.from, ", "), before.requirement, required.Key))
			return diags
		}
		sofar[r.Key()] = source{requirement: both, from: append(before.from, here.String())}
	}
	return diags
}
