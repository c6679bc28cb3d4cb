package nodepool

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/choice"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
)

// remarkOnChoice says what the plan's requirements and limits leave to choose from in the
// region, if they are new. A set of requirements that no instance type meets is an error.
func (r *nodePool) remarkOnChoice(ctx context.Context, plan, prior nodePoolModel, diags *diag.Diagnostics) {
	if r.Session == nil || plan.Requirements.Equal(prior.Requirements) && plan.Labels.Equal(prior.Labels) && plan.Limits.Equal(prior.Limits) {
		return
	}
	client, err := r.Session.Clients(ctx)
	if err != nil || !fwvalue.WhollyKnown(ctx, plan.Requirements, plan.Labels) {
		return
	}
	var ignored diag.Diagnostics // ValidateConfig has said what is wrong with the values
	spec := plan.Spec(&ignored)
	lines, paths := linesOf(spec)
	for _, remark := range r.choices.Check(client.Region(), lines, limitsOf(spec.Limits)) {
		at := path.Root("limits")
		if remark.Line >= 0 {
			at = paths[remark.Line]
		}
		if remark.Error {
			diags.AddAttributeError(at, remark.Summary, remark.Detail)
		} else {
			diags.AddAttributeWarning(at, remark.Summary, remark.Detail)
		}
	}
}

// linesOf are the labels and requirements of a pool, each with its attribute.
func linesOf(spec v1.NodePoolSpec) ([]choice.Line, []path.Path) {
	var lines []choice.Line
	var paths []path.Path
	add := func(at path.Path, l choice.Line) {
		l.At = at.String()
		lines, paths = append(lines, l), append(paths, at)
	}
	labels := spec.Template.ObjectMeta.Labels
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		add(path.Root("labels").AtMapKey(key), choice.Line{Requirement: label.Is(key, labels[key])})
	}
	for i, required := range spec.Template.Spec.Requirements {
		operator := label.Operator(required.Operator)
		requirement, err := label.NewRequirement(required.Key, operator, required.Values...)
		if err != nil {
			continue // the definition objects to it
		}
		line := choice.Line{Requirement: requirement, Open: operator == label.Gt || operator == label.Gte}
		if required.MinValues != nil {
			line.MinValues = *required.MinValues
		}
		add(path.Root("requirements").AtListIndex(i), line)
	}
	return lines, paths
}

func limitsOf(limits corev1.ResourceList) choice.Limits {
	return choice.Limits{CPU: limits.Cpu().Value(), MemoryMiB: limits.Memory().Value() >> 20}
}
